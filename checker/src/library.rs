//! The library of verified primitives, which `use "lib/…"` finds wherever a kernel lies.
//!
//! Its files are in this package's folder `lib`; `examples/lib` has what proves them.

use fencepost_dsl::kernel::LIBRARY_ROOT;

/// The files of `lib`, by name.
macro_rules! files {
    ($($name:literal)*) => { &[$(($name, include_str!(concat!("../lib/", $name, ".fence")))),*] };
}

/// Names without their ending, and texts, sorted by name.
const FILES: &[(&str, &str)] = files! {
    "atomic_ref"
    "cuda_barrier"
    "cuda_pipeline"
    "group_barrier"
    "host_ring"
    "lock"
    "look_back"
    "named_barrier"
    "nccl"
    "ordered_sequence"
    "pipeline_async"
    "pipeline_state"
    "pipeline_tma"
    "semaphore"
    "seqlock"
    "signal"
    "tensor_memory"
    "tma_store"
};

/// Names of the files, without their ending.
pub fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(name, _)| *name)
}

/// The text of a file, by its name without ending.
pub fn text(name: &str) -> Option<&'static str> {
    FILES.iter().find(|(own, _)| *own == name).map(|&(_, text)| text)
}

/// Each file, with the first line of its head.
pub fn list() -> String {
    let line = |&(name, text): &(&str, &str)| {
        let head = text.lines().next().unwrap_or_default().trim_start_matches("//!").trim();
        format!("use \"lib/{name}.fence\";\n    {head}\n")
    };
    let mut list: String = FILES.iter().map(line).collect();
    list.push_str("`fencepost explain lib/NAME` prints a file: its contract and its functions\n");
    list
}

/// The text of the file that reports show as `path`, such as `<fencepost>/lib/lock.fence`, or why there is none;
/// `None` if `path` is not one of the library's.
pub fn read(path: &str) -> Option<Result<String, String>> {
    let wanted = path.strip_prefix(LIBRARY_ROOT)?.strip_prefix("lib/")?;
    let found = wanted.strip_suffix(".fence").and_then(text);
    Some(found.map(str::to_owned).ok_or_else(|| {
        let names: Vec<String> = names().map(|name| format!("`lib/{name}.fence`")).collect();
        format!("it is not beside the file that uses it, and the library has {}", names.join(", "))
    }))
}

/// A reader of files that takes those of the library from here, and all others from `read`.
pub fn with(
    mut read: impl FnMut(&str) -> Result<String, String>,
) -> impl FnMut(&str) -> Result<String, String> {
    move |path| self::read(path).unwrap_or_else(|| read(path))
}

#[cfg(test)]
mod tests {
    use super::{FILES, names, read, with};
    use fencepost_dsl::sorted::SortedSet;
    use std::path::Path;

    #[test]
    fn every_file_of_the_folder_comes_along() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("lib");
        let entries = std::fs::read_dir(folder).expect("the folder is there");
        let files: SortedSet<String> = entries
            .map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned())
            .collect();
        let listed: Vec<String> = names().map(|name| format!("{name}.fence")).collect();
        assert_eq!(files.into_iter().collect::<Vec<_>>(), listed);
        assert!(
            FILES.iter().all(|(_, text)| !text.contains('\r')),
            "a checkout has changed the ends of lines"
        );
    }

    #[test]
    fn only_paths_below_its_root_are_the_librarys() {
        assert!(read("lib/lock.fence").is_none());
        assert!(read("<fencepost>/lib/lock.fence").is_some_and(|text| text.is_ok()));
        let missing = read("<fencepost>/lib/locks.fence").and_then(Result::err).unwrap_or_default();
        assert!(missing.contains("`lib/lock.fence`"), "{missing}");
        let mut both = with(|path| Ok(path.to_owned()));
        assert_eq!(both("lib/lock.fence").as_deref(), Ok("lib/lock.fence"));
        assert!(both("<fencepost>/lib/lock.fence").is_ok_and(|text| text.contains("fn ")));
    }
}
