//! Reads the sources of the repository from its folders: no build output, whether or not git tracks
//! a file.

use std::collections::BTreeMap;
use std::path::Path;

use crate::shell::{Attempt, Failure, files};

/// By path, relative to the root and with `/` between the parts.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// Reads the files at the root and all below these of its folders.
pub(crate) fn read(root: &Path, folders: &[&str]) -> Result<Files, Failure> {
    let mut sources = Files::new();
    add(root, "", &|path| folders.iter().any(|folder| path.split('/').next() == Some(folder)), &mut sources)?;
    Ok(sources)
}

fn add(folder: &Path, prefix: &str, is_wanted: &dyn Fn(&str) -> bool, sources: &mut Files) -> Result<(), Failure> {
    for file in files::list(folder)? {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let path = format!("{prefix}{name}");
        let is_output = matches!(path.as_str(), "fuzz/corpus" | "fuzz/artifacts") || name == "target";
        if file.is_dir() {
            if is_wanted(&path) && !is_output {
                add(&file, &format!("{path}/"), is_wanted, sources)?;
            }
        // In a linked worktree `.git` is a file, which names a folder of this machine.
        } else if path != ".git" {
            sources.insert(path, std::fs::read(&file).attempt(format!("read {}", file.display()))?);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_root_and_of_the_folders_are_read_and_no_build_output_is() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let sources = read(&root, &["xtask"]).expect("the repository can be read");
        assert!(["xtask/src/sources.rs", "Cargo.toml"].iter().all(|path| sources.contains_key(*path)));
        let is_other = |path: &str| path.contains("target/") || path.contains('/') && !path.starts_with("xtask/");
        assert!(!sources.keys().any(|path| is_other(path) || path == ".git"));
    }
}
