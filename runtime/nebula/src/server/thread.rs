//! Threads of a server, named and pinned.

use crate::config::error::ServeError;
use nebula_sys::affinity::pin_to;
use std::thread::JoinHandle;

/// Starts a named thread. Waits until it is pinned, if `pin` is given.
pub(crate) fn spawn(
    name: &str,
    pin: Option<usize>,
    run: Box<dyn FnOnce() + Send>,
) -> Result<JoinHandle<()>, ServeError> {
    let (tell, told) = std::sync::mpsc::channel();
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
        let pinned = pin.map_or(Ok(()), |core| pin_to(core).map_err(|cause| ServeError::Pin { core, cause }));
        let is_pinned = pinned.is_ok();
        if tell.send(pinned).is_ok() && is_pinned {
            run();
        }
    })?;
    match told.recv() {
        Ok(Err(error)) => Err(error),
        _ => Ok(thread),
    }
}
