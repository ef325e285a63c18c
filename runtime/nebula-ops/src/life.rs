//! The life of a service: ready, watched, drained, ended.

mod counters;
mod log;
mod notify;
mod ports;
mod settings;
mod toml_words;

pub use counters::counters;
pub(crate) use ports::when_free;
pub use settings::{CheckArgs, ConfigCommand, check, service_of, with_settings};

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use nebula::{Endpoint, LogError, RunningServer, Span, Status};

use crate::metrics::Metrics;
use nebula_ui::output::{self, Failure};
use nebula_ui::signal::{self, Signal};

/// Flags of every service.
#[derive(Debug, clap::Args)]
pub struct LifeArgs {
    /// File with settings, in TOML, one a flag: those of the command line come first. See nebula
    /// config check
    #[arg(long, value_name = "FILE.toml")]
    config: Option<PathBuf>,
    /// Serve the server's counters over HTTP: / to look at, /metrics for Prometheus, /status.json,
    /// /rpcs, /ready
    #[arg(long, value_name = "ADDRESS:PORT")]
    metrics: Option<SocketAddr>,
    /// On SIGTERM or Ctrl-C, how long to answer what is inside before the server ends anyway, with
    /// exit code 1
    #[arg(long, value_name = "TIME", default_value = "10s")]
    drain_timeout: Span,
    /// Events of the server's life to write on standard error
    #[arg(long, value_enum, value_name = "LEVEL", default_value_t)]
    log: log::Level,
}

/// What a server takes to end once it has drained.
const ENDS_WITHIN: Duration = Duration::from_secs(2);
/// The longest wait for ports: another program may have them.
const WAITS_MAX: Duration = Duration::from_secs(30);

/// Whether the servers of a service may go on.
pub type GoesOn<'a> = &'a dyn Fn(&[RunningServer]) -> bool;

/// A service about to begin.
pub struct Life {
    metrics: Option<Metrics>,
    drain_timeout: Duration,
}

/// How a service ended.
pub struct Ended {
    /// The last counters of each server.
    pub statuses: Vec<Status>,
    /// Whether the decision logs are complete.
    pub log: Result<(), LogError>,
    /// An error if RPCs inside a server were not answered.
    pub drained: Result<(), Failure>,
}

impl Life {
    /// Begins with the steps that can fail, before the service allocates its memory.
    ///
    /// # Errors
    ///
    /// Invalid input: the address of `--metrics` is not available, although the server before had
    /// time to end.
    pub fn begin(args: &LifeArgs, endpoints: &[&Endpoint]) -> Result<Self, Failure> {
        log::begin(args.log);
        let drain_timeout = Duration::from_nanos(args.drain_timeout.as_ns());
        let within = (drain_timeout + ENDS_WITHIN).min(WAITS_MAX);
        endpoints.iter().try_for_each(|endpoint| ports::wait_for(endpoint, within))?;
        let metrics = args.metrics.map(|address| Metrics::bind(address, within)).transpose()?;
        Ok(Self { metrics, drain_timeout })
    }

    /// Reports the servers ready, waits for a signal, and drains them. SIGHUP reads the settings
    /// again and calls `on_hang_up`. The servers also end once `goes_on`, if given, returns false.
    /// `--metrics` shows all of them.
    pub fn live(
        mut self,
        servers: Vec<RunningServer>,
        goes_on: Option<GoesOn<'_>>,
        on_hang_up: impl Fn(&[RunningServer]),
    ) -> Result<Ended, Failure> {
        if let Some(metrics) = self.metrics.as_mut().filter(|_| !servers.is_empty()) {
            metrics.start(&servers)?;
            tracing::info!("status at http://{}/", metrics.address());
        }
        servers.iter().for_each(|server| tracing::info!("{}: {}", server.endpoint(), server.threads()));
        servers.iter().for_each(|server| announce(server.endpoint()));
        let wait = || match goes_on {
            Some(goes_on) => signal::wait_while(|| goes_on(&servers)),
            None => signal::wait(),
        };
        while wait() == Signal::HangUp {
            notify::reloading();
            settings::read_again();
            on_hang_up(&servers);
            notify::reloaded();
        }
        Ok(self.end(servers))
    }

    fn end(&self, servers: Vec<RunningServer>) -> Ended {
        notify::stopping();
        tracing::info!("draining for at most {:?}", self.drain_timeout);
        if !self.drain(&servers) {
            let ended = self.abandon(&servers);
            // Dropping them would wait for their threads, one of which does not end.
            std::mem::forget(servers);
            return ended;
        }
        let (mut statuses, mut log) = (Vec::new(), Ok(()));
        for server in servers {
            let (status, ended) = server.stop_with_log();
            tracing::info!("stopped: {} RPCs served, {} NACKed", status.freed, status.nacked());
            statuses.push(status);
            log = log.and(ended);
        }
        Ended { statuses, log, drained: Ok(()) }
    }

    /// Drains all servers at once: none accepts RPCs while another drains.
    fn drain(&self, servers: &[RunningServer]) -> bool {
        std::thread::scope(|scope| {
            let drain = |server| scope.spawn(move || RunningServer::drain(server, self.drain_timeout));
            let draining: Vec<_> = servers.iter().map(drain).collect();
            let drained: Vec<bool> = draining.into_iter().map(|one| one.join().is_ok_and(|drained| drained)).collect();
            drained.into_iter().all(|is_drained| is_drained)
        })
    }

    /// The process ends without the server, whose handler may never end.
    fn abandon(&self, servers: &[RunningServer]) -> Ended {
        let statuses: Vec<_> = servers.iter().map(|server| server.status().read()).collect();
        let inside: u64 = statuses.iter().map(|status| status.completed.saturating_sub(status.freed)).sum();
        let why = format!(
            "{inside} RPCs were not answered within --drain-timeout {:?}; their clients are told that the server is gone",
            self.drain_timeout
        );
        tracing::error!("{why}");
        Ended { statuses, log: Ok(()), drained: Err(Failure::Fault(why)) }
    }
}

impl Ended {
    /// Ends the command, after its results were `printed`.
    ///
    /// # Errors
    ///
    /// The first of: RPCs that were not answered, an incomplete decision log, results that could
    /// not be printed.
    pub fn end(self, printed: Result<(), Failure>) -> Result<(), Failure> {
        if let Err(failure) = self.drained {
            // Returning would wait for the server's threads.
            if let Some(line) = failure.line() {
                output::note(line);
            }
            std::process::exit(1);
        }
        self.log.map_err(Failure::fault)?;
        printed
    }
}

/// Reports readiness: to users, to scripts on standard output, and to systemd. A closed standard
/// output does not end the server.
fn announce(endpoint: &Endpoint) {
    tracing::info!("serving {endpoint}; press Ctrl-C to stop");
    let _ = output::print_line(&format!("ready {endpoint}"));
    notify::ready(&format!("serving {endpoint}"));
}
