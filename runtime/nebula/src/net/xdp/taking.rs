//! Taking the frames of an interface from the kernel.

use nebula_sys::xdp::{Frames, Interface, Picked};
use std::io;
use std::time::{Duration, Instant};

/// How long to retry if another program holds the frames.
const GIVEN_BACK_IN: Duration = Duration::from_secs(1);

/// Takes the frames. Retries, because the kernel releases those of an ended program later.
pub(super) fn take(interface: &Interface, picked: Picked) -> io::Result<Frames> {
    let until = Instant::now() + GIVEN_BACK_IN;
    loop {
        match Frames::take(interface, picked) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy && Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(5));
            }
            taken => return taken,
        }
    }
}
