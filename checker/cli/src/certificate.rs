//! Writes certificates: all of one, or none of it.

use super::Status;
use super::output::Output;
use fencepost::paths::shown_path;
use fencepost::report::certificate::File;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

// What is written can be checked, as far as its size goes.
const _: () = assert!(fencepost::report::certificate::EVENTS_MAX == fencepost_verify::part::EVENTS_MAX);

/// The folder of a launch: letters, digits and a few signs of its file, kernel and launch.
pub fn folder(file: &str, kernel: &str, launch: &str) -> String {
    let plain = |text: &str| -> String {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_=,+".contains(c);
        text.chars().map(|c| if is_plain(c) { c } else { '-' }).collect()
    };
    let stem = Path::new(file).with_extension("");
    let file = plain(&stem.to_string_lossy());
    let file = file.trim_start_matches('-');
    format!("{}.{}.{}", if file.is_empty() { "stdin" } else { file }, plain(kernel), plain(launch))
}

/// Writes a certificate into a folder of its own below `under`, in place of an earlier one of that name.
pub fn write(under: &Path, name: &str, files: &[File], output: &mut Output) -> Status {
    match put(under, name, files) {
        Ok(()) => Status::Fine,
        Err((path, error)) => {
            let path = shown_path(&path);
            let why = match error.kind() {
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "the disk is full".to_owned(),
                ErrorKind::ReadOnlyFilesystem => "the disk can only be read".to_owned(),
                ErrorKind::PermissionDenied => "it may not be written".to_owned(),
                _ => error.to_string(),
            };
            output.complain(&format!(
                "error: certificate `{name}`: `{path}`: {why}\n  there is no certificate of this launch, \
                 and its verdict is not in doubt; make room or name another folder with --certificate\n"
            ));
            Status::Unwritten
        }
    }
}

/// Where what is not whole yet is; no certificate has such a name.
fn unfinished(under: &Path, name: &str) -> PathBuf {
    under.join(format!(".{name}.unfinished"))
}

fn put(under: &Path, name: &str, files: &[File]) -> Result<(), (PathBuf, io::Error)> {
    let (unfinished, finished) = (unfinished(under, name), under.join(name));
    let at = |path: &Path| {
        let path = path.to_owned();
        move |error| (path, error)
    };
    fs::create_dir_all(under).map_err(at(under))?;
    if finished.exists() && !is_replaceable(&finished) {
        let error = io::Error::other("there is something else, which is left alone");
        return Err((finished, error));
    }
    // Of a run that was interrupted.
    remove(&unfinished).map_err(at(&unfinished))?;
    let written = fs::create_dir(&unfinished).map_err(at(&unfinished)).and_then(|()| {
        for file in files {
            let path = unfinished.join(&file.name);
            let mut to = fs::File::create(&path).map_err(at(&path))?;
            io::Write::write_all(&mut to, &file.bytes).and_then(|()| to.sync_data()).map_err(at(&path))?;
        }
        remove(&finished).map_err(at(&finished))?;
        fs::rename(&unfinished, &finished).map_err(at(&finished))
    });
    if written.is_err() {
        // What cannot be removed is not taken for a certificate either.
        let _ = remove(&unfinished);
    }
    written
}

/// Whether a folder is a certificate, or empty.
fn is_replaceable(folder: &Path) -> bool {
    folder.join("certificate.json").is_file()
        || fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::folder;

    #[test]
    fn folders_have_names_that_any_disk_takes() {
        assert_eq!(folder("examples/ring.fence", "ring", "default"), "examples-ring.ring.default");
        assert_eq!(folder("/a/b c.litmus", "MP+x", "ctas=2,warps=4"), "a-b-c.MP+x.ctas=2,warps=4");
        assert_eq!(folder("-", "k", "default"), "stdin.k.default");
    }
}
