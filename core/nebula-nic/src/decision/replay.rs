//! Replays a log through another back end, up to the first difference.

use super::beside::Beside;
use super::decides::{Decides, drain};
use super::line::{Decision, Input, LogLine};
use super::text::ParseDecisionError;
use crate::backend::Backend;
use crate::config::text::ParseConfigError;
use crate::config::{BackendConfig, ConfigError};
use crate::dispatch::CustomPolicy;
use crate::time::Timestamp;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

/// The first words of a log; the configuration follows.
pub const LOG_HEADER: &str = "nebula-nic 1";

/// The first line of a log that another back end decides differently.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} differs: logged \"{logged}\", decided \"{decided}\"")]
pub struct Difference {
    /// The line of the log, from 1, excluding the configuration's and comments.
    pub line: usize,
    /// The logged line.
    pub logged: Box<LogLine>,
    /// The same input with the decisions of the other back end.
    pub decided: Box<LogLine>,
}

/// A log could not be replayed to its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The log does not begin with a configuration.
    #[error("a log begins with \"{LOG_HEADER}\" and a configuration, not with \"{got}\"")]
    Header {
        /// The first line.
        got: String,
    },
    /// The configuration cannot be read.
    #[error(transparent)]
    Config(#[from] ParseConfigError),
    /// The configuration is invalid.
    #[error(transparent)]
    Bounds(#[from] ConfigError),
    /// A line cannot be read.
    #[error("line {line}: {error}")]
    Line {
        /// The line, from 1, excluding the configuration's and comments.
        line: usize,
        /// The reason.
        error: ParseDecisionError,
    },
    /// The decisions differ.
    #[error(transparent)]
    Difference(#[from] Difference),
}

/// Replays a log through a back end of that configuration; returns the number of lines that agreed.
///
/// # Errors
///
/// [`ReplayError::Bounds`] or [`ReplayError::Difference`].
pub fn replay(config: BackendConfig, lines: impl IntoIterator<Item = LogLine>) -> Result<usize, ReplayError> {
    Ok(replay_through(Backend::try_new(config)?, Beside::new(&config), lines)?)
}

/// Like [`replay`], with the caller's decider and machines.
///
/// # Errors
///
/// The first [`Difference`].
pub fn replay_through<D: Decides>(
    mut decider: D,
    mut beside: Beside,
    lines: impl IntoIterator<Item = LogLine>,
) -> Result<usize, Difference> {
    let mut count = 0;
    for logged in lines {
        count += 1;
        compare(count, &logged, decide_again(&mut decider, &mut beside, &logged))?;
    }
    Ok(count)
}

/// The decisions about a logged input: the answer, and as much of what is pending as the log asked
/// for. Call it for each line in order.
pub fn decide_again<D: Decides>(decider: &mut D, beside: &mut Beside, logged: &LogLine) -> Vec<Decision> {
    let mut decisions = answer(decider, beside, logged.at, logged.input);
    if matches!(logged.input, Input::Pull { .. }) {
        // A core that got nothing must not receive what was meant for another core.
        return decisions;
    }
    if logged.input == Input::Poll && logged.decisions.is_empty() {
        drain(decider, &mut decisions);
    }
    let asked = logged.decisions.iter().skip(decisions.len());
    decisions.extend(asked.map_while(|asked| match asked {
        Decision::Abandoned(_) => decider.poll_abandoned().map(Decision::Abandoned),
        Decision::Dispatch(_) => decider.poll_dispatch().map(Decision::Dispatch),
        Decision::Packet(_)
        | Decision::Free(_)
        | Decision::Victim(_)
        | Decision::Turn(_)
        | Decision::Yield(_)
        | Decision::Fits
        | Decision::Refusal(_)
        | Decision::First
        | Decision::Last
        | Decision::Bound(_)
        | Decision::Together(_)
        | Decision::Serves(_)
        | Decision::Pass(_)
        | Decision::PassAll => None,
    }));
    decisions
}

/// The decisions about an input before anything is polled: those of the back end, or of the
/// machines outside it.
pub(super) fn answer<D: Decides>(decider: &mut D, beside: &mut Beside, at: Timestamp, input: Input) -> Vec<Decision> {
    decider.apply(at, input).map_or_else(|| beside.decide(at, input), |answer| vec![answer])
}

fn compare(line: usize, logged: &LogLine, decisions: Vec<Decision>) -> Result<(), Difference> {
    if decisions == logged.decisions {
        return Ok(());
    }
    let decided = LogLine { at: logged.at, input: logged.input, decisions };
    Err(Difference { line, logged: Box::new(logged.clone()), decided: Box::new(decided) })
}

/// Replays a log in its text form; returns the number of lines that agreed.
///
/// # Examples
///
/// ```
/// let log = "nebula-nic 1 cores=1 policy=jbsq:2 slots=4 rpc_bytes_max=256\n\
///            0 packet request 3.5 bytes=128 idx=1 key=0 -> write slots=0+2 offset=64 bytes=64 more\n\
///            512 packet request 3.6 bytes=256 idx=0 key=0 -> nack buffer-full # no room for four\n";
/// assert_eq!(nebula_nic::replay_text(log).unwrap(), 2);
/// let error = nebula_nic::replay_text(&log.replace("buffer-full", "queue-bound")).unwrap_err().to_string();
/// assert!(error.starts_with("line 2 differs"), "{error}");
/// ```
pub fn replay_text(log: &str) -> Result<usize, ReplayError> {
    let (config, lines) = read_text(log)?;
    replay(config, lines)
}

/// [`replay_text`] of a log that begins with `policy=custom:NAME`, through the policy of that name.
///
/// # Errors
///
/// Like [`replay_text`]; [`ConfigError::Custom`] if the log is another custom policy's. A log of a
/// built-in policy is replayed as such.
pub fn replay_text_with(log: &str, policy: &CustomPolicy) -> Result<usize, ReplayError> {
    let (config, lines) = read_text(log)?;
    if config.custom != Some(policy.name()) {
        return replay(config, lines);
    }
    let backend = Backend::try_with(config, policy.dispatcher(config.cores, config.seed))?;
    Ok(replay_through(backend, Beside::new(&config), lines)?)
}

/// The configuration and the lines of a log in its text form.
///
/// # Errors
///
/// [`ReplayError::Header`], [`ReplayError::Config`] or [`ReplayError::Line`].
pub fn read_text(log: &str) -> Result<(BackendConfig, Vec<LogLine>), ReplayError> {
    let mut lines = log.lines().map(|line| line.split('#').next().unwrap_or("").trim()).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or("");
    let config = first.strip_prefix(LOG_HEADER).ok_or_else(|| ReplayError::Header { got: first.into() })?.parse()?;
    let parse = |(index, line): (usize, &str)| {
        line.parse::<LogLine>().map_err(|error| ReplayError::Line { line: index + 1, error })
    };
    Ok((config, lines.enumerate().map(parse).collect::<Result<_, _>>()?))
}
