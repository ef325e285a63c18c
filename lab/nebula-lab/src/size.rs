//! `size`: room for a receive buffer and tables.
//!
//! Without `--service` it applies the papers' rule for exponential service times. With a service
//! and an SLO it uses a formula if one is exact, and simulates otherwise. With a rate it finds the
//! number of cores. For a [running server](Running), rate and service are measured.

mod planner;
mod question;
mod running;
mod service;

pub use question::Question;
pub use running::Running;

use nebula_nic::Sizing;
use nebula_sim::study::Row;

use crate::words::parsed;
use crate::{Answer, Failure, Progress, Workers};
use question::{with_sizing, with_sizing_shown};

/// The load at which 54 RPCs wait on average for the papers' 64 cores.
const LOAD: f64 = 0.984_375;

impl Question {
    /// The question in these words: flags and values, as after `nebula size`.
    ///
    /// # Errors
    ///
    /// Invalid input: the first unknown or invalid word, and the valid ones.
    pub fn parse(words: impl IntoIterator<Item = impl Into<String>>) -> Result<Self, Failure> {
        Ok(parsed("size", words)?.0)
    }

    /// A row for each number of cores and each load.
    ///
    /// # Errors
    ///
    /// Invalid input, or a queue that grows without limit.
    pub fn ask(&self, progress: &dyn Progress) -> Result<Answer, Failure> {
        self.ask_on(&self.effort.workers()?, progress)
    }

    /// A running server's capacity and needs; the question's service and rate replace its own.
    ///
    /// # Errors
    ///
    /// Those of [`ask`](Self::ask).
    pub fn ask_of(&self, running: &Running, progress: &dyn Progress) -> Result<Answer, Failure> {
        running::answer(self, running, &self.effort.workers()?, progress)
    }

    /// [`ask`](Self::ask) on these workers.
    pub fn ask_on(&self, workers: &Workers, progress: &dyn Progress) -> Result<Answer, Failure> {
        match (&self.service, self.rate) {
            (_, Some(rate)) => planner::answer(self, rate, workers, progress),
            (Some(service), None) => service::answer(self, service, workers, progress),
            (None, None) if self.slo.is_some() || self.policy.is_some() => {
                let flag = if self.slo.is_some() { "--slo" } else { "--policy" };
                Err(Failure::bad_input(format!("{flag} needs service times: give a law with --service")))
            }
            (None, None) => Ok(Answer { rows: plain_rows(self)?, ..Answer::default() }),
        }
    }
}

fn plain_rows(args: &Question) -> Result<Vec<Row>, Failure> {
    let loads = if args.load.is_empty() { &[LOAD] } else { &args.load[..] };
    let pairs = args.cores.iter().flat_map(|&cores| loads.iter().map(move |&load| (cores, load)));
    pairs.map(|(cores, load)| plain_row(cores, load, args.rpc_bytes)).collect()
}

fn plain_row(cores: u32, load: f64, rpc_bytes: u32) -> Result<Row, Failure> {
    let sizing = Sizing::new(cores, load, rpc_bytes).map_err(Failure::bad_input)?;
    let row = with_sizing(Row::new().field("cores", cores).field("load", load), &sizing);
    let row = row.shown("cores", cores.to_string()).shown("load", load.to_string());
    let row = row.shown("E[Nq]", format!("{:.2}", sizing.queue_depth_mean));
    Ok(with_sizing_shown(row, &sizing))
}
