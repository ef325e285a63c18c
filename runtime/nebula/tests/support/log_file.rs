//! Decision logs of a test's servers.

use std::path::{Path, PathBuf};

/// A decision log, removed with this value.
pub(crate) struct LogFile(pub(crate) PathBuf);

impl LogFile {
    pub(crate) fn new(name: &str) -> Self {
        Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}.log", std::process::id())))
    }

    /// The log of a run that has ended.
    pub(crate) fn text(&self) -> String {
        std::fs::read_to_string(&self.0).expect("the log of the run")
    }
}

impl Drop for LogFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
