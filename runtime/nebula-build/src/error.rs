//! The errors of compiling a `.proto`, in words for its author.

use std::path::PathBuf;

/// Why a `.proto` was not compiled.
///
/// Its `Debug` is its message, which a build script prints if its `main` returns it.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It is no valid protobuf, or an import is missing.
    #[error("{0:?}")]
    Proto(protox::Error),
    /// It is valid protobuf, and Nebula cannot serve it.
    #[error("{}", .0.join("\n"))]
    Schema(Vec<String>),
    /// Peers that were built before would misread it.
    #[error("{lock}: peers built before would misread this, so it is not compiled:\n{}", .changes.join("\n"))]
    Evolution {
        /// The lock file.
        lock: String,
        /// Each change, with what to do instead.
        changes: Vec<String>,
    },
    /// The lock file is behind, but must not be written.
    #[error("{lock} is behind its .proto: build once without NEBULA_LOCKED and check the file in")]
    Locked {
        /// The lock file.
        lock: String,
    },
    /// The lock file cannot be read or is damaged.
    #[error(
        "{lock} cannot be read: {cause}; restore it from version control, or remove it to give up what it protects"
    )]
    Lock {
        /// The lock file.
        lock: String,
        /// The cause.
        cause: String,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {cause}", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The kernel's reason.
        cause: std::io::Error,
    },
    /// prost cannot make code of it.
    #[error("prost cannot generate code: {0}")]
    Prost(std::io::Error),
    /// There is no folder for the code.
    #[error("OUT_DIR is not set: call this in a build script, or set Config::out_dir")]
    NoOutDir,
}

impl std::fmt::Debug for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl From<protox::Error> for Error {
    fn from(error: protox::Error) -> Self {
        Self::Proto(error)
    }
}
