//! Opens an endpoint, which may be free only in a moment.

use crate::config::error::ServeError;
use crate::endpoint::Endpoint;
use std::io::ErrorKind;
use std::time::{Duration, Instant};

/// How long to retry a taken endpoint. A child process that this one is starting holds all its
/// sockets until `exec`, so the endpoint of a stopped server may be free a moment later.
const CLAIM_FOR: Duration = Duration::from_millis(100);

pub(super) fn claim<T>(endpoint: &Endpoint, open: impl Fn() -> std::io::Result<T>) -> Result<T, ServeError> {
    let begun = Instant::now();
    loop {
        match open() {
            Err(cause) if cause.kind() == ErrorKind::AddrInUse => {
                if begun.elapsed() >= CLAIM_FOR {
                    return Err(ServeError::Taken { endpoint: endpoint.clone() });
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(cause) if cause.kind() == ErrorKind::AddrNotAvailable => {
                return Err(ServeError::NotHere { endpoint: endpoint.clone() });
            }
            opened => return opened.map_err(ServeError::System),
        }
    }
}
