//! The application: a process for each tier, started here and ended by its process id.

use crate::places::{Places, Transport};
use crate::serving::TierReport;
use crate::tier::{Threads, Tier};
use nebula::Span;
use std::collections::BTreeMap;
use std::error::Error;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};

/// How the tiers are started.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) app: String,
    pub(crate) transport: Transport,
    pub(crate) threads: Threads,
    pub(crate) pool_threads: u16,
    pub(crate) slo: Span,
    pub(crate) report_every: Span,
    /// What handlers of tiers wait for, where not as by default.
    pub(crate) waits: Vec<(Tier, Span)>,
}

/// The running tiers. Dropping it ends them.
pub(crate) struct App {
    plan: Plan,
    places: Places,
    children: BTreeMap<Tier, Child>,
    reports: (Sender<TierReport>, Receiver<TierReport>),
}

impl App {
    /// Starts every tier; returns when all serve.
    pub(crate) fn start(plan: Plan) -> Result<Self, Box<dyn Error>> {
        let places = Places::new(&plan.app);
        let mut app = Self { plan, places, children: BTreeMap::new(), reports: channel() };
        Tier::ALL.into_iter().try_for_each(|tier| app.start_tier(tier))?;
        Ok(app)
    }

    /// Starts a tier that does not run; returns when it serves.
    pub(crate) fn start_tier(&mut self, tier: Tier) -> Result<(), Box<dyn Error>> {
        let Plan { transport, threads, pool_threads, slo, report_every, waits, .. } = &self.plan;
        let app = self.places.app();
        let ns = |span: &Span| format!("{}ns", span.as_ns());
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["tier", tier.name(), "--app", app, "--threads", threads.name(), "--end-with-parent"]);
        command.args([
            "--pool-threads",
            &pool_threads.to_string(),
            "--slo",
            &ns(slo),
            "--report-every",
            &ns(report_every),
        ]);
        for (_, wait) in waits.iter().filter(|(slow, _)| *slow == tier) {
            command.args(["--wait", &ns(wait)]);
        }
        command.args(["--endpoint", &self.places.to_start(tier, *transport)]);
        for called in tier.calls() {
            command.args(["--place", &format!("{}={}", called.name(), self.places.of(*called))]);
        }
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let out = child.stdout.take().ok_or("its standard output is a pipe")?;
        self.children.insert(tier, child);
        let mut lines = BufReader::new(out).lines();
        let first = lines.next().transpose()?;
        let Some(endpoint) = first.as_deref().and_then(|line| line.strip_prefix("ready ")) else {
            return Err(format!("tier {} has ended before it served", tier.name()).into());
        };
        self.places.insert(tier, endpoint.to_owned());
        let reports = self.reports.0.clone();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let Ok(report) = serde_json::from_str(&line) else { continue };
                if reports.send(report).is_err() {
                    return;
                }
            }
        });
        Ok(())
    }

    /// Ends a tier at once, as `kill -9` does.
    pub(crate) fn kill(&mut self, tier: Tier) -> std::io::Result<()> {
        let Some(mut child) = self.children.remove(&tier) else { return Ok(()) };
        child.kill()?;
        child.wait().map(drop)
    }

    /// What the tiers have reported since it was asked last.
    pub(crate) fn reports(&self) -> Vec<TierReport> {
        self.reports.1.try_iter().collect()
    }

    /// Where the tiers are.
    pub(crate) fn places(&self) -> &Places {
        &self.places
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }
}

impl Drop for App {
    fn drop(&mut self) {
        // Those that call others first.
        for tier in Tier::ALL.into_iter().rev() {
            let _ = self.kill(tier);
        }
    }
}
