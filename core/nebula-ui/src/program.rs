//! Finds the other programs of Nebula: next to this one, or on the path.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The program of this name: next to the running one, or else on `PATH`.
#[must_use]
pub fn path_of(name: &str) -> Option<PathBuf> {
    let own = std::env::current_exe().ok();
    found(name, own.as_deref().and_then(Path::parent), std::env::var_os("PATH").as_deref())
}

fn found(name: &str, own: Option<&Path>, path: Option<&OsStr>) -> Option<PathBuf> {
    let on_path = path.into_iter().flat_map(std::env::split_paths);
    // A test's program is in `deps`, below the programs.
    let below = own.filter(|folder| folder.ends_with("deps")).and_then(Path::parent);
    let folders = own.into_iter().chain(below).map(Path::to_owned).chain(on_path);
    folders.map(|folder| folder.join(name)).find(|program| program.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_next_to_this_one_comes_before_those_on_the_path() {
        let folder = std::env::temp_dir().join(format!("nebula-ui-programs-{}", std::process::id()));
        let (own, path) = (folder.join("own"), folder.join("path"));
        for (at, name) in [(&own, "both"), (&path, "both"), (&path, "one")] {
            std::fs::create_dir_all(at).unwrap();
            std::fs::write(at.join(name), "").unwrap();
        }
        let find = |name: &str| found(name, Some(&own), Some(path.as_os_str()));
        assert_eq!(find("both"), Some(own.join("both")));
        assert_eq!(find("one"), Some(path.join("one")));
        assert_eq!(find("none"), None);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
