//! Logs of decisions that servers have recorded, decided about again by the hardware.

use crate::rtl::Rtl;
use nebula_nic::decision::{Beside, Difference, read_text, replay_through};
use nebula_nic::{Backend, BackendConfig, LogLine, ScrubMode};

/// Replays a log in its text form; returns the lines that agreed, and the cycles that they took.
///
/// The hardware scrubs ahead of need. Of a server that scrubs otherwise, a log is replayed in which that makes no difference: a state machine that
/// scrubs ahead has to agree first.
///
/// # Errors
///
/// What cannot be read or is not in hardware, or the first difference.
pub fn replay(text: &str, x_seed: u64) -> Result<(usize, u64), String> {
    let (config, lines) = read_text(text).map_err(|error| error.to_string())?;
    let config = config.scrub(ScrubMode::Ahead);
    agrees(&config, lines.clone()).map_err(|difference| format!("this log depends on how a server scrubs: {difference}"))?;
    let mut rtl = Rtl::try_new(config, x_seed).map_err(|unsupported| unsupported.to_string())?;
    let lines = replay_through(&mut rtl, Beside::new(&config), lines).map_err(|difference| difference.to_string())?;
    Ok((lines, rtl.cycles()))
}

fn agrees(config: &BackendConfig, lines: Vec<LogLine>) -> Result<usize, Box<Difference>> {
    let backend = Backend::try_new(*config).expect("a valid configuration");
    replay_through(backend, Beside::new(config), lines).map_err(Box::new)
}
