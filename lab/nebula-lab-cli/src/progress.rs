//! The progress bars of simulations.

use indicatif::ProgressBar;
use nebula_lab::Progress;

use nebula_ui::output::bar;

/// Counts steps; a precision may add more than planned.
pub(crate) struct Bar(ProgressBar);

impl Bar {
    pub(crate) fn of_replications() -> Self {
        Self(bar("simulating {bar:40} {pos} of {len} replications, {eta} to go", Some(0)))
    }

    pub(crate) fn of_points() -> Self {
        Self(bar("{bar:40} {pos} of {len} points, {eta} to go", Some(0)))
    }

    /// With the name of their entry.
    pub(crate) fn of_runs() -> Self {
        Self(bar("{msg:24} {bar:40} {pos} of {len} runs and searches", Some(0)))
    }

    pub(crate) fn finish(&self) {
        self.0.finish_and_clear();
    }
}

impl Progress for Bar {
    fn begin(&self, what: &'static str) {
        self.0.set_message(what);
    }

    fn expect(&self, steps: u64) {
        self.0.inc_length(steps);
    }

    fn step(&self) {
        if self.0.length().is_some_and(|length| self.0.position() >= length) {
            self.0.inc_length(1);
        }
        self.0.inc(1);
    }
}
