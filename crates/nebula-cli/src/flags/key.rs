//! Reads the key file of `--key-file`.

use std::path::Path;

use nebula::{Endpoint, Keys};

use crate::output::Failure;

/// The keys in `file`, for an endpoint that has a use for them; none without a file.
pub(crate) fn read(file: Option<&Path>, endpoint: &Endpoint) -> Result<Keys, Failure> {
    match (file, endpoint) {
        (None, _) => Ok(Keys::default()),
        (Some(_), Endpoint::Shm(_)) => Err(Failure::bad_input(
            "--key-file has no effect over shm://, where the kernel says who a peer is: leave it out",
        )),
        (Some(file), _) => Keys::read_file(file).map_err(Failure::bad_input),
    }
}
