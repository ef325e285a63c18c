//! Reads the key file of `--key-file`.

use std::path::Path;

use nebula::Keys;

use nebula_ui::output::Failure;

/// The keys in `file`; none without a file.
///
/// # Errors
///
/// Invalid input: a file without `has_network`, or one that cannot be read.
pub fn read(file: Option<&Path>, has_network: bool) -> Result<Keys, Failure> {
    match (file, has_network) {
        (None, _) => Ok(Keys::default()),
        (Some(_), false) => Err(Failure::bad_input(
            "--key-file has no effect over shm://, where the kernel says who a peer is: leave it out",
        )),
        (Some(file), _) => Keys::read_file(file).map_err(Failure::bad_input),
    }
}
