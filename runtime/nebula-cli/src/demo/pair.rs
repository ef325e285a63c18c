//! The pair: the service in a child process, and clients on threads of this process.

use indicatif::ProgressBar;
use nebula_nic::Span;
use nebula_workload::Rate;

use super::machine::{self, Machine};
use super::options::{LOADS, Options};
use super::service::{Service, Terms};
use crate::drive::{self, LoadOutcome, LoadPlan};
use crate::report;
use nebula_ui::output::{self, Failure, note, units};
use nebula_ui::signal;

/// A pause of the machine of 25 ms is less than a hundredth of such a load.
const SECONDS: f64 = 3.0;

/// Pairs of 512 B values: far more than a cache holds, yet stored within a second. NEBULA's
/// evaluation has 1.6 million (§VI).
const ITEMS: u64 = 200_000;
const ITEMS_QUICK: u64 = 20_000;
/// The measurement, and for each design its start and its loads.
const STEPS: usize = 1 + 2 * (1 + LOADS.len());

pub(super) struct Setting<'a> {
    pub(super) options: &'a Options,
    pub(super) machine: Machine,
    pub(super) items: u64,
    pub(super) point: Span,
    progress: ProgressBar,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    pub(super) rps: f64,
    pub(super) duration: Span,
    pub(super) outstanding: f64,
    /// How long an RPC may wait for room among those.
    pub(super) patience: Span,
    /// An RPC that is sent later than this counts as late.
    pub(super) late_after: Span,
}

pub(super) struct Pair<'a> {
    setting: &'a Setting<'a>,
    service: Service,
}

impl<'a> Setting<'a> {
    /// Checks the flags before anything takes time.
    pub(super) fn set(options: &'a Options) -> Result<Self, Failure> {
        let wanted = options.items.unwrap_or(if options.quick { ITEMS_QUICK } else { ITEMS });
        let items = machine::items_that_fit(wanted, options.value_bytes);
        if items == 0 {
            return Err(Failure::fault("not enough free memory for even a small store"));
        }
        if items < wanted {
            let of = |pairs: u64| units::rate(pairs as f64);
            note(format!("free memory is low: storing {} pairs instead of {}", of(items), of(wanted)));
        }
        if !options.no_report {
            report::check_directory("--report", &options.report)?;
        }
        if let Some(path) = &options.plot {
            report::check_directory("--plot", path)?;
            report::plot::check_plot(path)?;
        }
        let seconds = options.seconds_per_point.unwrap_or(if options.quick { 0.25 } else { SECONDS });
        if !(0.05..=600.0).contains(&seconds) {
            return Err(Failure::bad_input("--seconds-per-point: give 0.05 to 600 seconds"));
        }
        let progress = output::bar("{bar:24} {msg}", Some(STEPS as u64));
        Ok(Self { options, machine: Machine::look(), items, point: Span::from_us(micros(seconds)), progress })
    }

    pub(super) fn workload(&self) -> String {
        let (value, work) = (self.options.value_bytes, units::span(self.options.work));
        let pairs = units::rate(self.items as f64);
        format!(
            "{pairs} pairs of 16 B/{value} B, half GETs, half SETs, Poisson arrivals, {work} of computing for each RPC"
        )
    }

    pub(super) fn begin(&self, what: impl Into<String>) {
        self.progress.set_message(what.into());
    }

    pub(super) fn end(&self) {
        self.progress.inc(1);
    }

    pub(super) fn print<T>(&self, print: impl FnOnce() -> T) -> T {
        self.progress.suspend(print)
    }

    pub(super) fn finish(&self) {
        self.progress.finish_and_clear();
    }

    /// Starts a pair, runs `task` on it and ends it; returns the sample of its handler times too.
    /// If the service has ended, its error replaces the client's.
    pub(super) fn with_pair<T>(
        &self,
        terms: Terms,
        task: impl FnOnce(&Pair<'_>) -> Result<T, Failure>,
    ) -> Result<(T, Vec<Span>), Failure> {
        self.begin(format!("starting the service, {}", terms.kind.name()));
        let service = Service::start(terms, self.options, &self.machine, self.items)?;
        let pair = Pair { setting: self, service };
        match pair.fill().and_then(|()| task(&pair)) {
            Ok(found) => Ok((found, pair.service.end()?)),
            Err(failure) => Err(pair.service.blame(failure)),
        }
    }
}

impl Pair<'_> {
    fn fill(&self) -> Result<(), Failure> {
        let Setting { items, options, .. } = *self.setting;
        let (endpoint, key_count, value_bytes) = (self.service.endpoint().into(), items, options.value_bytes);
        let plan = LoadPlan { endpoint, key_count, value_bytes, ..LoadPlan::default() };
        drive::preload(&plan, &mut |_| ())
    }

    /// Offers a load, after a warm-up of a fifth of its time.
    pub(super) fn load(&self, load: Load) -> Result<LoadOutcome, Failure> {
        let Setting { machine, items, options, .. } = self.setting;
        let plan = LoadPlan {
            endpoint: self.service.endpoint().into(),
            rate: Rate::try_new(load.rps).map_err(Failure::fault)?,
            duration: load.duration,
            warm_up: load.duration / 5,
            key_count: *items,
            value_bytes: options.value_bytes,
            slots: slots(load.outstanding, machine.clients()),
            patience: Some(load.patience),
            late_after: load.late_after,
            clients: machine.clients(),
            pin: machine.client_cores(),
            ..LoadPlan::default()
        };
        let outcome = drive::run(&plan, &mut |_| ())?;
        signal::check()?;
        Ok(outcome)
    }
}

/// Slots of each client's ring for that many outstanding RPCs, a power of two.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
fn slots(outstanding: f64, clients: u16) -> u32 {
    const MIN: f64 = 1024.0;
    const MAX: f64 = 65_536.0;
    ((outstanding / f64::from(clients.max(1))).clamp(MIN, MAX) as u32).next_power_of_two()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to lie between 0.05 and 600 s")]
fn micros(seconds: f64) -> u64 {
    (seconds * 1e6) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_have_room_for_what_is_under_way_within_what_a_client_can_have() {
        let cases = [(0.0, 1, 1024), (1025.0, 1, 2048), (18_000.0, 1, 32_768), (18_000.0, 4, 8192), (1e9, 3, 65_536)];
        for (outstanding, clients, expected) in cases {
            assert_eq!(slots(outstanding, clients), expected, "{outstanding} of {clients}");
        }
    }
}
