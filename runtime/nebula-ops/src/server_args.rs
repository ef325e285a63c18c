//! Flags that every server of `nebula serve` has, and the settings that they make.

mod workers;

use std::path::PathBuf;
use std::sync::Once;

use nebula::{Endpoint, Keys, MigrationConfig, Policy, RunningServer, Server, ServerConfig, Span};
use nebula_ui::output::Format;
use nebula_workload::thresholds::ThresholdFile;

use crate::key_file;
use crate::life::{Life, LifeArgs};
use nebula_ui::output::Failure;
use nebula_ui::signal;
use workers::Workers;

fn policy_help() -> String {
    let served = Policy::served().join(", ");
    format!(
        "Dispatch policy: {served}. preemptive:Q preempts at safe points within --work; altocumulus:G runs G engines"
    )
}

/// Flags of every server. Where one means something else to a service, that has its own text for it
/// (`mut_arg`).
#[derive(Debug, clap::Args)]
pub struct ServerArgs {
    /// Worker threads; auto gives each core of this process an engine or a worker, as suits the
    /// length of an RPC, and chooses altocumulus:G where one engine cannot feed all workers of
    /// jbsq:2
    #[arg(long, default_value = "1", value_name = "N|auto")]
    workers: Workers,
    // The help lists the served policies, so it is made at run time.
    #[arg(long, default_value = "jbsq:2", help = policy_help())]
    #[expect(missing_docs, reason = "its help is above")]
    pub policy: Policy,
    /// SLO on the p99 latency; it determines the size of receive buffer and queue
    #[arg(long, default_value = "100us")]
    slo: Span,
    /// Under altocumulus:G: trained thresholds of the groups, a name or file as nebula thresholds
    /// writes them, in place of half of what the SLO lets wait
    #[arg(long, value_name = "FILE")]
    thresholds: Option<String>,
    /// Run each NIC engine and its worker on one thread, as is the default for one worker
    #[arg(long)]
    inline: bool,
    /// Run each NIC engine on its own thread, also where it has one worker: RPCs are taken in and
    /// refused while a handler runs
    #[arg(long, conflicts_with = "inline")]
    engine_thread: bool,
    /// Start more workers and engines than this process may use cores
    #[arg(long)]
    oversubscribe: bool,
    /// Cores to pin threads to: first the engines, then the workers
    #[arg(long, value_delimiter = ',', value_name = "CORE,…")]
    pin: Vec<usize>,
    /// Key file shared with the clients, for authenticated and encrypted udp:// or tcp:// (see
    /// nebula keygen); read again on SIGHUP
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    /// Serve udp:// or tcp:// to other machines without a key
    #[arg(long, conflicts_with = "key_file")]
    insecure: bool,
    /// Exit when the parent process exits
    #[arg(long)]
    end_with_parent: bool,
    #[command(flatten)]
    life: LifeArgs,
    /// Output format of the counters
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

impl ServerArgs {
    /// Begins the service's life at these endpoints; from here signals end it, but for SIGHUP.
    /// Waits for ports that a draining server still has.
    ///
    /// # Errors
    ///
    /// Invalid input or a fault: the process cannot watch its parent or signals, or [`Life::begin`]
    /// fails.
    pub fn begin(&self, endpoints: &[&Endpoint]) -> Result<Life, Failure> {
        signal::catch_with_hang_up()?;
        if self.end_with_parent {
            nebula_sys::process::end_with_parent().map_err(Failure::fault)?;
        }
        Life::begin(&self.life, endpoints)
    }

    /// The keys of a server at `endpoint`.
    pub fn read_keys(&self, endpoint: Option<&Endpoint>) -> Result<Keys, Failure> {
        let has_network = endpoint.is_some_and(|endpoint| !matches!(endpoint, Endpoint::Shm(_)));
        key_file::read(self.key_file.as_deref(), has_network)
    }

    /// A server at `endpoint` that is not started, with its keys.
    pub fn bind(&self, endpoint: &Endpoint, mut config: ServerConfig) -> Result<Server, Failure> {
        config.keys = self.read_keys(Some(endpoint))?;
        Ok(Server::bind(endpoint).config(config))
    }

    /// Replaces the servers' keys by those in the key file, if there is one. A file with a mistake
    /// changes nothing, so that it locks out no client.
    pub fn read_keys_again(&self, servers: &[RunningServer], endpoint: Option<&Endpoint>) {
        if self.key_file.is_none() {
            return;
        }
        match self.read_keys(endpoint) {
            Ok(keys) => {
                // Servers whose clients have no keys ignore them.
                servers.iter().for_each(|server| server.set_keys(&keys));
                tracing::info!("read the key file again: {} keys", keys.len());
            }
            Err(failure) => tracing::warn!("the keys stay as they were: {failure}"),
        }
    }

    /// The number of workers, if `--workers` has one.
    #[must_use]
    pub fn workers(&self) -> Option<u16> {
        match self.workers {
            Workers::Auto => None,
            Workers::Number(number) => Some(number),
        }
    }

    /// Completes the configuration of a server at `endpoint`: chooses the threads of
    /// `--workers auto`, or says if one engine cannot feed all workers; then as
    /// [`trained`](Self::trained).
    ///
    /// # Errors
    ///
    /// As `trained`.
    pub fn complete(&self, config: ServerConfig, endpoint: &Endpoint) -> Result<ServerConfig, Failure> {
        let may_be_several = matches!(endpoint, Endpoint::Shm(_) | Endpoint::Udp(_) | Endpoint::Tcp(_));
        if self.workers == Workers::Auto {
            return self.trained(workers::divide(config, workers::cores(), may_be_several));
        }
        let threads = config.threads();
        let fits = threads.number() <= threads.cores().number();
        if let Some(line) = workers::advice(&config).filter(|_| may_be_several && fits) {
            static SAID: Once = Once::new();
            SAID.call_once(|| tracing::info!("{line}"));
        }
        self.trained(config)
    }

    /// Adds the groups' trained thresholds, and the mean service time of the training, which
    /// measures a group's load.
    ///
    /// # Errors
    ///
    /// Invalid input: no such thresholds, or for other groups.
    pub fn trained(&self, mut config: ServerConfig) -> Result<ServerConfig, Failure> {
        if let Some(text) = &self.thresholds {
            let table = self.table(text, config.workers)?;
            config.migration = MigrationConfig::default().thresholds(table.thresholds().map_err(Failure::bad_input)?);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time in picoseconds")]
            let mean_ps = table.service.mean_ps().round() as u64;
            config.service_mean = Span::from_ps(mean_ps);
        }
        Ok(config)
    }

    /// The table of thresholds, if it fits the groups of this server.
    fn table(&self, text: &str, workers: u16) -> Result<ThresholdFile, Failure> {
        let Policy::Altocumulus(groups) = self.policy else {
            return Err(Failure::bad_input("--thresholds applies to --policy altocumulus:G only"));
        };
        let table = ThresholdFile::find(text).map_err(Failure::bad_input)?;
        let (each, trained) = (workers.div_ceil(groups.get()), table.workers);
        if each != trained {
            return Err(Failure::bad_input(format!(
                "--thresholds: {text} is for groups of {trained} workers, and {} of {} have {each}: train with nebula thresholds --workers {each}",
                groups.get(),
                workers
            )));
        }
        Ok(table)
    }

    /// The settings of the other flags.
    pub fn config(&self) -> ServerConfig {
        let mut config = ServerConfig::default()
            .policy(self.policy)
            .slo(self.slo)
            .workers(self.workers().unwrap_or(1))
            .oversubscribe(self.oversubscribe)
            .insecure(self.insecure)
            .pin(self.pin.clone());
        if self.inline || self.engine_thread {
            config.inline = Some(self.inline);
        }
        config
    }
}
