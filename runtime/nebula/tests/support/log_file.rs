//! Decision logs of a test's servers.

use nebula_files::{Unsealed, unseal};
use std::path::{Path, PathBuf};

/// A decision log, removed with this value.
pub(crate) struct LogFile(pub(crate) PathBuf);

impl LogFile {
    pub(crate) fn new(name: &str) -> Self {
        Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}.log", std::process::id())))
    }

    /// The log of a run that has ended, without its seal.
    pub(crate) fn text(&self) -> String {
        let text = std::fs::read_to_string(&self.0).expect("the log of the run");
        match unseal("", &text) {
            Unsealed::Whole(lines) => lines.to_owned(),
            other => panic!("the server writes the log to its end: {other:?}"),
        }
    }
}

impl Drop for LogFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
