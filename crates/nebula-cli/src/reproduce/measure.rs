//! Runs the selected entries, with a progress bar.

use indicatif::ProgressBar;
use nebula_sim::reproduce::{Entry, Lab, Memo, Progress, Reproduction};
use nebula_sim::study::Threads;
use nebula_workload::Seed;

use super::args::Args;
use crate::output::{self, Failure};

/// The results of the entries, in their order.
pub(super) fn reproduced(args: &Args, entries: &[Entry]) -> Result<Vec<(Entry, Reproduction)>, Failure> {
    let threads = Threads::try_new(args.threads)?;
    let (bar, memo) =
        (Bar(output::bar("{msg:24} {bar:40} {pos} of {len} runs and searches", Some(0))), Memo::default());
    let lab = Lab { effort: args.effort.into(), seed: Seed(args.seed), progress: &bar, memo: &memo };
    let one = |entry: &Entry| {
        bar.0.set_message(entry.id);
        let found = threads.install(|| entry.reproduce(&lab)).map_err(Failure::fault)?;
        Ok((*entry, found))
    };
    let found = entries.iter().map(one).collect();
    bar.0.finish_and_clear();
    found
}

/// A progress bar; it shows on terminals only.
struct Bar(ProgressBar);

impl Progress for Bar {
    fn expect(&self, steps: u64) {
        self.0.inc_length(steps);
    }

    fn step(&self) {
        self.0.inc(1);
    }
}
