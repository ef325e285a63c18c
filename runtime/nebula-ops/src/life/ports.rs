//! Ports that the server before still has, while it drains.

use std::io::{ErrorKind, Result as IoResult};
use std::net::UdpSocket;
use std::time::{Duration, Instant};

use nebula::Endpoint;
use nebula_ui::Failure;
use nebula_ui::signal;

const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Opens what is at an address, once nobody else has it; the last error is that of `within`.
///
/// # Errors
///
/// Interrupted by a signal.
pub(crate) fn when_free<T>(
    what: &str,
    within: Duration,
    open: impl Fn() -> IoResult<T>,
) -> Result<IoResult<T>, Failure> {
    let (until, mut is_told) = (Instant::now() + within, false);
    loop {
        match open() {
            Err(error) if error.kind() == ErrorKind::AddrInUse && Instant::now() < until => {
                if !std::mem::replace(&mut is_told, true) {
                    tracing::info!("{what} is in use: waiting up to {within:?} for the server before to end");
                }
                signal::sleep(LOOK_EVERY)?;
            }
            opened => return Ok(opened),
        }
    }
}

/// Waits for the port of `udp://`, which a server keeps while it drains, to send its answers from.
/// Those of `shm://` and `tcp://` are free by then. Other errors are found by who serves there.
pub(super) fn wait_for(endpoint: &Endpoint, within: Duration) -> Result<(), Failure> {
    let Endpoint::Udp(address) = endpoint else { return Ok(()) };
    when_free(&endpoint.to_string(), within, || UdpSocket::bind(address)).map(drop)
}
