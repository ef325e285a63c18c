//! The runs of the entries asked for, with a progress bar.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use nebula_sim::reproduce::{Entry, Lab, Memo, Progress, Reproduction};
use nebula_workload::Seed;

use super::Args;
use crate::output::Failure;

/// What the entries give, in their order.
pub(super) fn reproduced(args: &Args, entries: &[Entry]) -> Result<Vec<(Entry, Reproduction)>, Failure> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(args.threads.unwrap_or(0).into()).build();
    let pool = pool.map_err(|error| Failure::fault(format!("cannot start threads: {error}")))?;
    let (bar, memo) = (Bar::new(), Memo::default());
    let lab = Lab { effort: args.effort.into(), seed: Seed(args.seed), progress: &bar, memo: &memo };
    let one = |entry: &Entry| {
        bar.0.set_message(entry.id);
        let found = pool.install(|| entry.reproduce(&lab)).map_err(Failure::fault)?;
        Ok((*entry, found))
    };
    let found = entries.iter().map(one).collect();
    bar.0.finish_and_clear();
    found
}

/// A bar on a terminal; nothing in a pipe.
struct Bar(ProgressBar);

impl Bar {
    fn new() -> Self {
        let target =
            if std::io::stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let style = ProgressStyle::with_template("{msg:24} {bar:40} {pos} of {len} runs and searches");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        Self(ProgressBar::with_draw_target(Some(0), target).with_style(style))
    }
}

impl Progress for Bar {
    fn expect(&self, steps: u64) {
        self.0.inc_length(steps);
    }

    fn step(&self) {
        self.0.inc(1);
    }
}
