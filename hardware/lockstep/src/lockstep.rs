//! Gives the state machine and the hardware the same inputs, and compares every decision.
//!
//! An input is offered in each cycle that takes one, while earlier inputs are hashed or decided.
//! Decisions must be the same. A dispatch that a decision makes possible must go to the same core
//! before the next decision, as in a log.

use crate::rtl::{Rtl, Shown, Unsupported};
use crate::traffic::{Mix, Traffic};
use nebula_nic::decision::Decides;
use nebula_nic::{Backend, BackendConfig, Decision, Dispatch, Freed, Input, NackReason, Span, Timestamp, Verdict};
use std::collections::VecDeque;
use std::fmt;

/// Between two inputs.
const STEP: Span = Span::from_ps(500);

/// The constant time for an input's hashes before the back end takes it: `hash_ahead`.
const HASH_CYCLES: f64 = 5.0;

/// A run: its model, server and traffic.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// The model's name in models.txt.
    pub model: &'static str,
    /// The server, before [`Mix::configure`].
    pub config: BackendConfig,
    /// The traffic.
    pub mix: Mix,
    /// The number of inputs.
    pub inputs: u64,
    /// The seed of the inputs.
    pub seed: u64,
    /// The seed of the registers' first values.
    pub x_seed: u64,
}

/// The results of a run.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Inputs that agreed.
    pub inputs: u64,
    /// RPCs whose first packet was written, and all packets written.
    pub writes: u64,
    /// RPCs refused, by the reason's code.
    pub nacks: [u64; 9],
    /// Packets dropped.
    pub drops: u64,
    /// RPCs freed, and frees refused.
    pub frees: [u64; 2],
    /// RPCs given to cores.
    pub dispatches: u64,
    /// RPCs abandoned.
    pub abandoned: u64,
    /// Searches for room behind a slow RPC, and those that found it.
    pub scrubs: [u64; 2],
    /// Cycles of the hardware.
    pub cycles: u64,
    /// The number of inputs by the cycles between their offer and their decision.
    pub waited: Vec<u64>,
    /// The most cycles from a decision to the dispatch that it made possible.
    pub dispatch_cycles_max: u64,
}

impl Report {
    /// Decisions per cycle.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a ratio")]
    pub fn inputs_per_cycle(&self) -> f64 {
        self.inputs as f64 / self.cycles.max(1) as f64
    }

    /// The squared coefficient of variation of the cycles from an input to its decision, as queues
    /// see it: without the cycles in which several inputs are hashed at once.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "few cycles")]
    pub fn variation(&self) -> f64 {
        let mean_of = |power: fn(f64) -> f64| {
            let sum = |(waited, count): (usize, &u64)| power(waited as f64 + 1.0 - HASH_CYCLES) * *count as f64;
            self.waited.iter().enumerate().map(sum).sum::<f64>() / self.inputs.max(1) as f64
        };
        mean_of(|cycles| cycles * cycles) / mean_of(|cycles| cycles).powi(2) - 1.0
    }

    /// The most cycles that an input waited.
    #[must_use]
    pub fn waited_max(&self) -> usize {
        self.waited.len().saturating_sub(1)
    }

    fn count(&mut self, offered: Option<Decision>, waited: u64) {
        self.inputs += 1;
        let waited = usize::try_from(waited).expect("few");
        if self.waited.len() <= waited {
            self.waited.resize(waited + 1, 0);
        }
        self.waited[waited] += 1;
        match offered {
            Some(Decision::Packet(Verdict::Write { .. })) => self.writes += 1,
            Some(Decision::Packet(Verdict::Nack { reason })) => self.nacks[usize::from(reason.code())] += 1,
            Some(Decision::Packet(Verdict::Drop { .. })) => self.drops += 1,
            Some(Decision::Free(freed)) => self.frees[usize::from(freed == Freed::Refused)] += 1,
            Some(Decision::Dispatch(_)) => self.dispatches += 1,
            _ => {}
        }
    }

    /// NACKs for a reason.
    #[must_use]
    pub fn nacks_for(&self, reason: NackReason) -> u64 {
        self.nacks[usize::from(reason.code())]
    }
}

/// The first difference.
#[derive(Clone, Debug)]
pub struct Mismatch {
    /// The input's number, from 0.
    pub number: u64,
    /// The input.
    pub input: Input,
    /// The two decisions.
    pub what: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "input {} differs: {}: {}", self.number, self.input, self.what)
    }
}

/// Why a run ended early.
#[derive(Clone, Debug)]
pub enum Failure {
    /// The hardware lacks a feature.
    Unsupported(Unsupported),
    /// The decisions differ.
    Mismatch(Box<Mismatch>),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported(unsupported) => unsupported.fmt(f),
            Self::Mismatch(mismatch) => mismatch.fmt(f),
        }
    }
}

impl Run {
    /// Runs up to the first difference.
    ///
    /// # Errors
    ///
    /// A feature that the hardware lacks, or the first difference.
    ///
    /// # Panics
    ///
    /// If the configuration is invalid for a back end.
    pub fn run(&self) -> Result<Report, Failure> {
        let config = self.mix.configure(self.config);
        let rtl = Rtl::in_model(self.model, config, self.x_seed).map_err(Failure::Unsupported)?;
        let soft = Backend::try_new(config).expect("a valid configuration");
        let traffic = Traffic::new(self.mix, &config, self.seed);
        let mut pair = Pair {
            soft,
            rtl,
            decides: VecDeque::new(),
            last: (0, Input::Poll),
            expected: None,
            report: Report::default(),
        };
        pair.run(traffic, self.inputs, self.mix.pulls)?;
        pair.report.cycles = pair.rtl.cycles();
        let counters = pair.soft.counters();
        pair.report.scrubs = [counters.scrubs, counters.scrubs_found];
        Ok(pair.report)
    }
}

/// A decision that takes longer hangs.
const CYCLES_MAX: u64 = 1_000_000;

/// A decision that the hardware owes.
struct Awaited {
    number: u64,
    input: Input,
    offered: u64,
    decision: Option<Decision>,
    /// Made possible by the decision.
    dispatch: Option<Dispatch>,
}

struct Pair {
    soft: Backend,
    rtl: Rtl,
    /// Inputs that were taken but not yet decided.
    decides: VecDeque<Awaited>,
    last: (u64, Input),
    /// The next dispatch, and the cycle of the decision that made it possible.
    expected: Option<(Dispatch, u64)>,
    report: Report,
}

impl Pair {
    fn run(&mut self, mut traffic: Traffic, inputs: u64, pulls: bool) -> Result<(), Failure> {
        for number in 0..inputs {
            let at = Timestamp::from_ps(number * STEP.as_ps());
            let input = traffic.next_input();
            let step = if pulls {
                self.fetch(at, input).map_err(|what| Mismatch { number, input, what })
            } else {
                self.stream(number, at, input)
            };
            if let Some(dispatch) = step.map_err(|mismatch| Failure::Mismatch(Box::new(mismatch)))? {
                traffic.handle_dispatch(dispatch);
            }
        }
        Ok(())
    }

    /// Offers an input a cycle, and lets dispatches go as soon as possible. Returns the dispatch
    /// until the input was taken.
    fn stream(&mut self, number: u64, at: Timestamp, input: Input) -> Result<Option<Dispatch>, Mismatch> {
        let mut given = None;
        let offered = self.rtl.cycles();
        let decision = self.soft.apply(at, input);
        loop {
            let shown = self.rtl.cycle(Some((at, input)), true);
            given = self.compared(shown)?.or(given);
            if shown.is_taken {
                break;
            }
            assert!(self.rtl.cycles() - offered < CYCLES_MAX, "{input} is never taken");
        }
        let is_end = matches!(input, Input::Timeout | Input::PeerGone(_));
        // After an end the back end's contract requires to poll abandoned RPCs first.
        let dispatch = if is_end { None } else { self.soft.poll_dispatch() };
        self.decides.push_back(Awaited { number, input, offered, decision, dispatch });
        if is_end {
            while !self.decides.is_empty() {
                let shown = self.rtl.cycle(None, true);
                given = self.compared(shown)?.or(given);
                assert!(self.rtl.cycles() - offered < CYCLES_MAX, "{input} is never decided about");
            }
            self.abandon(input).map_err(|what| Mismatch { number, input, what })?;
            let cycle = self.rtl.cycles();
            self.expected = self.soft.poll_dispatch().map(|dispatch| (dispatch, cycle));
        }
        Ok(given)
    }

    /// Compares a cycle with the state machine.
    fn compared(&mut self, shown: Shown) -> Result<Option<Dispatch>, Mismatch> {
        let cycle = self.rtl.cycles();
        if shown.dispatch.is_some() || shown.decided.is_some() {
            let expected = self.expected.take();
            let (number, input) = self.last;
            same("after it", expected.map(|(dispatch, _)| dispatch), shown.dispatch).map_err(|what| Mismatch {
                number,
                input,
                what,
            })?;
            if let Some((_, decided)) = expected {
                self.report.dispatches += 1;
                self.report.dispatch_cycles_max = self.report.dispatch_cycles_max.max(cycle - decided);
            }
        }
        if let Some(made) = shown.decided {
            let awaited = self.decides.pop_front().expect("an input is decided about once");
            let Awaited { number, input, .. } = awaited;
            self.last = (number, input);
            same("decided", awaited.decision, made).map_err(|what| Mismatch { number, input, what })?;
            self.report.count(made, cycle - awaited.offered - 1);
            self.expected = awaited.dispatch.map(|dispatch| (dispatch, cycle));
        }
        Ok(shown.dispatch)
    }

    /// Cores fetch waiting RPCs, and are given no others.
    fn fetch(&mut self, at: Timestamp, input: Input) -> Result<Option<Dispatch>, String> {
        let (decided, made) = (self.soft.apply(at, input), self.rtl.apply(at, input));
        same("decided", decided, made)?;
        self.report.count(decided, 0);
        self.abandon(input)?;
        Ok(match decided {
            Some(Decision::Dispatch(dispatch)) => Some(dispatch),
            _ => None,
        })
    }

    fn abandon(&mut self, input: Input) -> Result<(), String> {
        if !matches!(input, Input::Timeout | Input::PeerGone(_)) {
            return Ok(());
        }
        // A dispatch goes on meanwhile; the next input asks for it.
        loop {
            let both = (self.soft.poll_abandoned(), self.rtl.poll_abandoned());
            if same("abandoned", both.0, both.1)?.is_none() {
                return Ok(());
            }
            self.report.abandoned += 1;
        }
    }
}

/// The decision of both, if they agree.
fn same<T: PartialEq + fmt::Debug>(what: &str, soft: T, rtl: T) -> Result<T, String> {
    if soft == rtl { Ok(soft) } else { Err(format!("{what}: the state machine {soft:?}, the hardware {rtl:?}")) }
}
