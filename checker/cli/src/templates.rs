//! What `fencepost new` begins with: kernels of the folder `templates`, each of which is proved.

/// A kernel to begin with.
pub struct Template {
    /// What `--template` calls it; with `_` for `-`, the name of its kernel.
    pub name: &'static str,
    text: &'static str,
}

/// The files of `templates`, by name.
macro_rules! files {
    ($($name:literal)*) => {
        &[$(Template { name: $name, text: include_str!(concat!("../templates/", $name, ".fence")) }),*]
    };
}

/// The first is what there is without `--template`; from there on by how much they take for granted.
pub const ALL: &[Template] = files! {
    "message"
    "lock"
    "barrier"
    "mbarrier"
    "tma-ring"
    "cluster"
    "grid-barrier"
};

/// The one of that name.
pub fn find(name: &str) -> Option<&'static Template> {
    ALL.iter().find(|template| template.name == name)
}

impl Template {
    /// Its first line, which says what the kernel is.
    pub fn summary(&self) -> &'static str {
        let line = self.text.lines().next().unwrap_or_default();
        line.trim_start_matches("//! ").trim_end_matches('.')
    }

    /// Its text with a kernel of another name.
    pub fn named(&self, kernel: &str) -> String {
        let own = self.name.replace('-', "_");
        // A word of its own, so that a longer name that begins alike stays.
        let is_end = |rest: &str| rest.starts_with([' ', '(']);
        let mut text = String::new();
        for line in self.text.lines() {
            let rest = line.strip_prefix("kernel ").and_then(|rest| rest.strip_prefix(own.as_str()));
            match rest.filter(|rest| is_end(rest)) {
                Some(rest) => text += &format!("kernel {kernel}{rest}\n"),
                None => text += &format!("{line}\n"),
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::ALL;
    use fencepost_dsl::sorted::SortedSet;
    use std::path::Path;

    #[test]
    fn every_file_of_the_folder_comes_along() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("templates");
        let entries = std::fs::read_dir(folder).expect("the folder is there");
        let files: SortedSet<String> = entries
            .map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned())
            .collect();
        let listed: SortedSet<String> =
            ALL.iter().map(|template| format!("{}.fence", template.name)).collect();
        assert_eq!(files, listed);
        assert!(
            ALL.iter().all(|template| !template.text.contains('\r')),
            "a checkout has changed the ends of lines"
        );
    }

    #[test]
    fn the_kernel_gets_the_name_and_nothing_else_changes() {
        for template in ALL {
            let own = template.name.replace('-', "_");
            assert_eq!(template.named(&own), template.text, "{}", template.name);
            let named = template.named("mine");
            assert_eq!(named.matches("\nkernel mine").count(), 1, "{}", template.name);
            let differing = named.lines().zip(template.text.lines()).filter(|(new, old)| new != old).count();
            assert_eq!(differing, 1, "{}", template.name);
        }
    }
}
