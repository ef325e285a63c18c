//! Lines of life-cycle events on standard error, by `tracing`. No RPC writes a line.

use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

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

/// A second call changes nothing.
pub(super) fn begin(level: Level) {
    let most = match level {
        Level::Off => return,
        Level::Error => tracing::Level::ERROR,
        Level::Warn => tracing::Level::WARN,
        Level::Info => tracing::Level::INFO,
    };
    // The Raft library writes a line for each of its messages at `info`.
    let of_ours = Targets::new().with_default(most).with_target("openraft", most.min(tracing::Level::WARN));
    let lines = fmt::layer().with_target(false).with_ansi(false).with_writer(std::io::stderr);
    let _ = tracing_subscriber::registry().with(lines).with(of_ours).try_init();
}
