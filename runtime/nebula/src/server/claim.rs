//! Opening what listens at an endpoint, which may be free in a moment.

use crate::config::error::ServeError;
use crate::endpoint::Endpoint;
use std::io::ErrorKind;
use std::time::{Duration, Instant};

/// How long an endpoint that is taken is tried again. A process that any thread of this one is
/// starting holds all its sockets until it becomes another program: so the endpoint of a server
/// that has stopped may be free a moment later.
const CLAIM_FOR: Duration = Duration::from_millis(100);

/// Opens what listens at an endpoint.
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
