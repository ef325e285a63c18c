//! Reads the key file of `--key-file`.

use std::path::Path;

use nebula::Key;

use crate::output::Failure;

/// Reads the key in `file`.
pub(crate) fn read(file: &Path) -> Result<Key, Failure> {
    let name = file.display();
    let text =
        std::fs::read_to_string(file).map_err(|error| Failure::bad_input(format!("cannot read {name}: {error}")))?;
    text.parse().map_err(|error| Failure::bad_input(format!("{name}: {error}")))
}
