//! Lines of life-cycle events on standard error, by `tracing`: of no RPC is there ever one.

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

/// From here on events are written. A second call changes nothing.
pub(super) fn begin(level: Level) {
    let most = match level {
        Level::Off => return,
        Level::Error => tracing::Level::ERROR,
        Level::Warn => tracing::Level::WARN,
        Level::Info => tracing::Level::INFO,
    };
    let lines = tracing_subscriber::fmt().with_max_level(most).with_target(false).with_ansi(false);
    let _ = lines.with_writer(std::io::stderr).try_init();
}
