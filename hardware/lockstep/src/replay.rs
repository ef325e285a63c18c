//! Lets the hardware decide again about servers' logs of decisions.

use crate::rtl::Rtl;
use nebula_nic::decision::{Beside, Difference, LOG_HEADER, decide_again, read_text, replay_through};
use nebula_nic::{Backend, BackendConfig, LogLine, ScrubMode, Sources, Tenants};

/// Of the reassembler in every model but the smallest.
const ENTRIES: u32 = 16;

/// Replays a log in its text form; returns the lines that agreed, and their cycles.
///
/// The hardware scrubs ahead of need, knows one source, and reassembles fewer RPCs at once. A log
/// of a server with another configuration is replayed only if that makes no difference: a state
/// machine configured like the hardware has to agree first.
///
/// # Errors
///
/// An unreadable log, a feature that is not in hardware, or the first difference.
pub fn replay(text: &str, x_seed: u64) -> Result<(usize, u64), String> {
    let (mut rtl, config, lines) = started(text, x_seed)?;
    let lines = replay_through(&mut rtl, Beside::new(&config), lines).map_err(|difference| difference.to_string())?;
    Ok((lines, rtl.cycles()))
}

/// The hardware's log of the same inputs, with each line's cycles in a comment.
///
/// # Errors
///
/// As [`replay`], but a difference is part of the result.
pub fn record(text: &str, x_seed: u64) -> Result<String, String> {
    let (mut rtl, config, lines) = started(text, x_seed)?;
    let mut beside = Beside::new(&config);
    let mut record = format!("{LOG_HEADER} {config}\n");
    for LogLine { at, input, decisions } in lines {
        let before = rtl.cycles();
        let decisions = decide_again(&mut rtl, &mut beside, &LogLine { at, input, decisions });
        let line = LogLine { at, input, decisions };
        record += &format!("{line} # cycles={}\n", rtl.cycles() - before);
    }
    Ok(record)
}

fn started(text: &str, x_seed: u64) -> Result<(Rtl, BackendConfig, Vec<LogLine>), String> {
    let (config, lines) = read_text(text).map_err(|error| error.to_string())?;
    let entries = config.reassembler_entries.min(ENTRIES);
    let config = config
        .scrub(ScrubMode::Ahead)
        .sources(Sources::ONE)
        .tenants(Tenants::ONE)
        .incomplete_per_peer(u32::MAX)
        .reassembler_entries(entries);
    agrees(&config, lines.clone())
        .map_err(|difference| format!("in this log it matters what is not in hardware: {difference}"))?;
    let rtl = Rtl::try_new(config, x_seed).map_err(|unsupported| unsupported.to_string())?;
    Ok((rtl, config, lines))
}

fn agrees(config: &BackendConfig, lines: Vec<LogLine>) -> Result<usize, Box<Difference>> {
    let backend = Backend::try_new(*config).expect("a valid configuration");
    replay_through(backend, Beside::new(config), lines).map_err(Box::new)
}
