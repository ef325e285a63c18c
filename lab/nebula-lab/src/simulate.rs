//! `simulate`: a server under each policy or design and load, with confidence intervals.
//!
//! At the queueing level service times are given. At the block level each block that an RPC touches
//! goes through the simulated memory of a `--machine`, and service times are a result.
//!
//! `question` has the flags of both levels, `level` refuses those of the wrong one, `words` has
//! value syntax; `queueing` has the flags of the queueing level and `plan` its points; `tenants`
//! has tenants that share cores, `blocks` the block level.

mod level;
mod plan;
mod queueing;
mod question;
mod blocks;
mod tenants;
mod words;

use nebula_sim::study::blocks::Findings;
use nebula_sim::study::{Ask, Found, Row, fields};
use nebula_sim::{Length, TracedRpc, trace};

use crate::own::OwnPolicy;
use crate::{Answer, Failure, Progress, Workers, studies};
pub use question::Question;

/// The answer, and the results behind its rows.
#[derive(Debug)]
pub struct Simulation {
    /// Its rows.
    pub answer: Answer,
    /// The results, for charts.
    pub of: Simulated,
}

/// Each RPC of a run.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The name of the point: its policy.
    pub name: String,
    /// The share of capacity offered; `None` for a closed loop.
    pub load: Option<f64>,
    /// The RPCs in the order of sending.
    pub rpcs: Vec<TracedRpc>,
}

/// The results of a simulation.
#[derive(Debug)]
pub enum Simulated {
    /// Points of the queueing level.
    Queueing(Vec<Found>),
    /// Scenarios of the block level.
    Blocks(Box<Findings>),
    /// Tenants that share cores.
    Tenants,
}

impl Simulation {
    /// A row per replication of each point of the queueing level.
    ///
    /// # Errors
    ///
    /// Invalid input: the question has another level.
    pub fn replications(&self) -> Result<Vec<Row>, Failure> {
        Ok(self.queueing("--per-replication")?.iter().flat_map(Found::replication_rows).collect())
    }

    /// A row per cell of the latency's distribution, for each point of the queueing level.
    ///
    /// # Errors
    ///
    /// Invalid input: the question has another level.
    pub fn histogram(&self) -> Result<Vec<Row>, Failure> {
        Ok(self.queueing("--histogram")?.iter().flat_map(Found::histogram_rows).collect())
    }

    fn queueing(&self, flag: &str) -> Result<&[Found], Failure> {
        match &self.of {
            Simulated::Queueing(found) => Ok(found),
            _ => Err(Failure::bad_input(format!(
                "{flag} is of the queueing level: remove it, or remove --machine or --tenants"
            ))),
        }
    }
}

impl Question {
    /// Runs all points.
    ///
    /// # Errors
    ///
    /// Invalid input: the first point that cannot be simulated, before any run.
    pub fn ask(&self, progress: &dyn Progress) -> Result<Simulation, Failure> {
        self.ask_on(&self.effort.workers()?, progress)
    }

    /// [`ask`](Self::ask) on these workers.
    pub fn ask_on(&self, workers: &Workers, progress: &dyn Progress) -> Result<Simulation, Failure> {
        let is_queueing = self.machine.is_none() && self.queueing.tenants.is_none() && self.queueing.tiers.is_none();
        if !self.own.policies.is_empty() && !is_queueing {
            return Err(Failure::bad_input(
                "a policy of your own serves neither a machine, nor tenants, nor tiers: leave it out",
            ));
        }
        match (&self.machine, &self.queueing.tenants) {
            (Some(machine), _) => blocks::ask(self, machine, workers, progress),
            (None, Some(given)) => {
                let answer = tenants::ask(self, given, workers, progress)?;
                Ok(Simulation { answer, of: Simulated::Tenants })
            }
            (None, None) => self.ask_queueing(workers, progress),
        }
    }

    /// Each RPC of the first replication of each point, as long as the effort without growth.
    ///
    /// # Errors
    ///
    /// Invalid input: another level, a search, or a policy whose RPCs change their core.
    pub fn trace(&self) -> Result<Vec<Trace>, Failure> {
        if self.machine.is_some() || self.queueing.tenants.is_some() {
            return Err(Failure::bad_input("a trace is of the queueing level: remove --machine or --tenants"));
        }
        let (points, seed) = (plan::points(self)?, self.effort.seed());
        let one = |point: &nebula_sim::study::Point| {
            if point.ask == Ask::FindLoad {
                return Err(Failure::bad_input("a trace is of given loads: remove --find-slo"));
            }
            let warmup = point.effort.length(&point.system, &point.load).warmup;
            let length = Length { warmup, rpcs: point.effort.rpcs };
            let rpcs = trace(&point.system, &point.load, length, seed.replica(0))?;
            Ok(Trace { name: point.name.clone(), load: point.offered(), rpcs })
        };
        points.iter().map(one).collect()
    }

    fn ask_queueing(&self, workers: &Workers, progress: &dyn Progress) -> Result<Simulation, Failure> {
        let points = plan::points(self)?;
        let measured = studies::measure(workers, &points, self.effort.seed(), progress)?;
        if let Some(fault) = self.own.policies.iter().find_map(OwnPolicy::fault) {
            return Err(fault);
        }
        let answer = measured.answer(&fields::queueing());
        Ok(Simulation { answer, of: Simulated::Queueing(measured.found) })
    }
}
