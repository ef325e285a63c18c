//! The areas of the repository, and where a crate lies in them.

use std::path::{Path, PathBuf};

/// The folders of the workspace's crates. Tidy's rule on areas says which may import which.
pub(crate) const AREAS: &[&str] = &["core", "runtime", "lab", "services", "testing"];

/// Whether the file of this path from the root belongs to a crate of the workspace.
pub(crate) fn holds(path: &str) -> bool {
    path.split_once('/').is_some_and(|(area, _)| AREAS.contains(&area))
}

pub(crate) fn crate_of(manifest: &str) -> Option<&str> {
    let (area, rest) = manifest.split_once('/')?;
    let name = rest.strip_suffix("/Cargo.toml")?;
    (AREAS.contains(&area) && !name.contains('/')).then_some(name)
}

pub(crate) fn folder_of(root: &Path, name: &str) -> Option<PathBuf> {
    AREAS.iter().map(|area| root.join(area).join(name)).find(|folder| folder.join("Cargo.toml").is_file())
}

pub(crate) fn crates_of(root: &Path, areas: &[&str]) -> Vec<String> {
    let entries = areas.iter().filter_map(|area| root.join(area).read_dir().ok()).flatten().flatten();
    let crates = entries.filter(|entry| entry.path().join("Cargo.toml").is_file());
    let mut names: Vec<String> = crates.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crates_of_an_area_are_its_folders_with_a_manifest() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let names = crates_of(&root, &["core", "testing"]);
        assert!(
            ["nebula-nic", "nebula-testing"].iter().all(|name| names.iter().any(|other| other == name)),
            "{names:?}"
        );
        assert!(names.is_sorted() && !names.iter().any(|name| name == "nebula"));
    }

    #[test]
    fn a_crate_is_one_folder_below_an_area() {
        assert_eq!(crate_of("core/nebula-nic/Cargo.toml"), Some("nebula-nic"));
        assert_eq!(crate_of("core/nebula-nic/fuzz/Cargo.toml"), None);
        assert_eq!(crate_of("docs/nebula-nic/Cargo.toml"), None);
    }
}
