//! What cargo knows of packages.

use serde::Deserialize;

use crate::shell::{Attempt, Failure, Shell, stdout_of};

/// The part of `cargo metadata`'s output that is read here.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
pub(super) struct Package {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) license: Option<String>,
    /// Nothing for a package of this repository.
    pub(super) source: Option<String>,
    /// The registries it may go to: all when there is no list, none when the list is empty.
    pub(super) publish: Option<Vec<String>>,
}

/// The packages that `cargo metadata` lists with these arguments.
pub(super) fn packages(shell: &Shell, args: &[&str]) -> Result<Vec<Package>, Failure> {
    let json = stdout_of(shell.cargo(&["metadata", "--format-version", "1"]).args(args))?;
    let metadata: Metadata = serde_json::from_str(&json).attempt("read the output of `cargo metadata`")?;
    Ok(metadata.packages)
}
