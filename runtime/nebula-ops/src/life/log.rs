//! Lines of life-cycle events on standard error, by `tracing`. No RPC writes a line.

use std::sync::OnceLock;

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{fmt, reload};

/// Which events are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Level {
    /// None
    Off,
    /// What ends the server, or loses RPCs
    Error,
    /// Also what the server goes on without
    Warn,
    /// Also ready, draining, stopped, and files that were read again
    #[default]
    Info,
}

static CHANGE: OnceLock<Box<dyn Fn(Level) + Send + Sync>> = OnceLock::new();

/// A second call changes nothing.
pub(super) fn begin(level: Level) {
    let (of_ours, handle) = reload::Layer::new(events(level));
    let lines = fmt::layer().with_target(false).with_ansi(false).with_writer(std::io::stderr);
    if tracing_subscriber::registry().with(lines).with(of_ours).try_init().is_ok() {
        let change = move |level| drop(handle.reload(events(level)));
        let _ = CHANGE.set(Box::new(change));
    }
}

/// Writes other events from here on.
pub(super) fn change(level: Level) {
    if let Some(change) = CHANGE.get() {
        change(level);
    }
}

fn events(level: Level) -> Targets {
    let most = match level {
        Level::Off => LevelFilter::OFF,
        Level::Error => LevelFilter::ERROR,
        Level::Warn => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
    };
    // The Raft library writes a line for each of its messages at `info`.
    Targets::new().with_default(most).with_target("openraft", most.min(LevelFilter::WARN))
}
