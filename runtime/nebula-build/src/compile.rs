//! From the path of a `.proto` to the files in `OUT_DIR`.

use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::{generate, lock, read};

/// Compiles the `.proto` at `path`, relative to the crate, and writes the code to `OUT_DIR`.
/// Imports are searched in the file's folder.
///
/// # Errors
///
/// [`Error`].
pub fn compile(path: impl AsRef<Path>) -> Result<(), Error> {
    Config::default().compile(path)
}

/// How to compile.
#[derive(Clone, Debug, Default)]
pub struct Config {
    includes: Vec<PathBuf>,
    out_dir: Option<PathBuf>,
    descriptors: Option<PathBuf>,
    locked: bool,
}

impl Config {
    /// Searches imports in this folder too.
    #[must_use]
    pub fn include(mut self, folder: impl Into<PathBuf>) -> Self {
        self.includes.push(folder.into());
        self
    }

    /// Writes the code to this folder. Default: `OUT_DIR`, as Cargo sets it.
    #[must_use]
    pub fn out_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.out_dir = Some(folder.into());
        self
    }

    /// Also writes the descriptors of the file and its imports to this file: an encoded
    /// `google.protobuf.FileDescriptorSet`, from which clients in other languages can build
    /// messages.
    #[must_use]
    pub fn descriptors(mut self, file: impl Into<PathBuf>) -> Self {
        self.descriptors = Some(file.into());
        self
    }

    /// Whether a lock file that is behind its `.proto` is an error instead of being updated.
    /// Default: whether `NEBULA_LOCKED` is 1.
    #[must_use]
    pub const fn locked(mut self, locked: bool) -> Self {
        self.locked = locked;
        self
    }

    /// Compiles the `.proto` at `path`.
    ///
    /// # Errors
    ///
    /// [`Error`].
    pub fn compile(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        let files = read::files(path, &self.includes)?;
        let lock = lock::path(path);
        let is_locked = self.locked || std::env::var_os("NEBULA_LOCKED").is_some_and(|value| value == "1");
        lock::advance(&lock, &files, is_locked)?;
        let out_dir = self.out_dir.clone().or_else(|| std::env::var_os("OUT_DIR").map(PathBuf::from));
        let out_dir = out_dir.ok_or(Error::NoOutDir)?;
        for (name, code) in generate::files(&files)? {
            write(&out_dir.join(name), code.as_bytes())?;
        }
        if let Some(file) = &self.descriptors {
            write(file, &files.pool.encode_to_vec())?;
        }
        rerun_if_changed(&files, &lock);
        Ok(())
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    // Cargo compiles an untouched file only once.
    if std::fs::read(path).is_ok_and(|before| before == bytes) {
        return Ok(());
    }
    std::fs::write(path, bytes).map_err(|cause| Error::Write { path: path.into(), cause })
}

#[expect(clippy::print_stdout, reason = "how a build script speaks to Cargo")]
fn rerun_if_changed(files: &read::Files, lock: &Path) {
    for path in files.paths.iter().map(PathBuf::as_path).chain([lock]) {
        println!("cargo:rerun-if-changed={}", path.display());
    }
    println!("cargo:rerun-if-env-changed=NEBULA_LOCKED");
}
