//! The life of a service that the program serves: ready, watched, drained, ended.
//!
//! | file | what it holds |
//! |---|---|
//! | `log` | lines of life-cycle events on standard error |
//! | `notify` | what systemd is told |
//! | `settings`, `toml_words` | `--config FILE`: settings from a file, below those of the command line |

mod log;
mod notify;
mod settings;
mod toml_words;

pub(crate) use settings::{ConfigCommand, check, with_settings};

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use nebula::{Endpoint, LogError, RunningServer, Span, Status};

use crate::metrics::Metrics;
use crate::output::{self, Failure};
use crate::signal::{self, Signal};

/// Flags of every service.
#[derive(Debug, clap::Args)]
pub(crate) struct LifeArgs {
    /// File with settings, in TOML, one a flag: those of the command line come first. See nebula config check
    #[arg(long, value_name = "FILE.toml")]
    config: Option<PathBuf>,
    /// Serve the server's counters over HTTP: / to look at, /metrics for Prometheus, /status.json, /rpcs, /ready
    #[arg(long, value_name = "ADDRESS:PORT")]
    metrics: Option<SocketAddr>,
    /// On SIGTERM or Ctrl-C, how long to answer what is inside before the server ends anyway, with exit code 1
    #[arg(long, value_name = "TIME", default_value = "10s")]
    drain_timeout: Span,
    /// Events of the server's life to write on standard error
    #[arg(long, value_enum, value_name = "LEVEL", default_value_t)]
    log: log::Level,
}

/// A service about to begin.
pub(crate) struct Life {
    metrics: Option<Metrics>,
    drain_timeout: Duration,
}

/// How a service ended.
pub(crate) struct Ended {
    pub(crate) status: Status,
    /// Whether the decision log is whole.
    pub(crate) log: Result<(), LogError>,
    /// Why RPCs that had been taken in were not answered, if there were any.
    pub(crate) drained: Result<(), Failure>,
}

impl Life {
    /// Begins with what can fail before the service takes its memory.
    ///
    /// # Errors
    ///
    /// Invalid input: the address of `--metrics` cannot be had.
    pub(crate) fn begin(args: &LifeArgs) -> Result<Self, Failure> {
        log::begin(args.log);
        let metrics = args.metrics.map(Metrics::bind).transpose()?;
        Ok(Self { metrics, drain_timeout: Duration::from_nanos(args.drain_timeout.as_ns()) })
    }

    /// Says that the server is ready, waits until it is to end, and drains it. `on_hang_up` is called on SIGHUP, where that is caught; the server ends
    /// by itself once `goes_on` does not hold any more, if it is given.
    pub(crate) fn live(
        mut self,
        server: RunningServer,
        goes_on: Option<&dyn Fn(&RunningServer) -> bool>,
        on_hang_up: impl Fn(&RunningServer),
    ) -> Result<Ended, Failure> {
        if let Some(metrics) = &mut self.metrics {
            metrics.start(server.endpoint(), server.status().clone())?;
            tracing::info!("status at http://{}/", metrics.address());
        }
        announce(server.endpoint());
        let wait = || match goes_on {
            Some(goes_on) => signal::wait_while(|| goes_on(&server)),
            None => signal::wait(),
        };
        while wait() == Signal::HangUp {
            on_hang_up(&server);
        }
        Ok(self.end(server))
    }

    fn end(&self, server: RunningServer) -> Ended {
        notify::stopping();
        tracing::info!("draining for at most {:?}", self.drain_timeout);
        let is_drained = server.drain(self.drain_timeout);
        if !is_drained {
            let ended = self.abandon(&server);
            // Not dropped: that waits for its threads, one of which does not end.
            std::mem::forget(server);
            return ended;
        }
        let (status, log) = server.stop_with_log();
        tracing::info!("stopped: {} RPCs served, {} NACKed", status.freed, status.nacked());
        Ended { status, log, drained: Ok(()) }
    }

    /// A handler that does not end would keep the server for good: the process ends without it.
    fn abandon(&self, server: &RunningServer) -> Ended {
        let status = server.status().read();
        let inside = status.completed.saturating_sub(status.freed);
        let why = format!(
            "{inside} RPCs were not answered within --drain-timeout {:?}; their clients are told that the server is gone",
            self.drain_timeout
        );
        tracing::error!("{why}");
        Ended { status, log: Ok(()), drained: Err(Failure::Fault(why)) }
    }
}

impl Ended {
    /// Ends the command, after its results were `printed`.
    ///
    /// # Errors
    ///
    /// The first of: RPCs that were not answered, a decision log that is not whole, results that could not be printed.
    pub(crate) fn end(self, printed: Result<(), Failure>) -> Result<(), Failure> {
        if let Err(failure) = self.drained {
            // Not by returning: the server's threads would be waited for.
            if let Some(line) = failure.line() {
                output::note(line);
            }
            std::process::exit(1);
        }
        self.log.map_err(Failure::fault)?;
        printed
    }
}

/// Reports readiness: to users, to scripts on standard output, and to systemd. A closed standard output does not end the server.
fn announce(endpoint: &Endpoint) {
    tracing::info!("serving {endpoint}; press Ctrl-C to stop");
    let _ = output::print_line(&format!("ready {endpoint}"));
    notify::ready(&format!("serving {endpoint}"));
}
