//! Packages, from `cargo metadata`.

use serde::Deserialize;

use crate::shell::{Attempt, Failure, Shell, stdout_of};

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
pub(super) struct Package {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) license: Option<String>,
    /// `None` for a package of this repository.
    pub(super) source: Option<String>,
    /// The allowed registries: all without a list, none for an empty list.
    pub(super) publish: Option<Vec<String>>,
}

pub(super) fn packages(shell: &Shell, args: &[&str]) -> Result<Vec<Package>, Failure> {
    let json = stdout_of(shell.cargo(&["metadata", "--format-version", "1"]).args(args))?;
    let metadata: Metadata = serde_json::from_str(&json).attempt("read the output of `cargo metadata`")?;
    Ok(metadata.packages)
}
