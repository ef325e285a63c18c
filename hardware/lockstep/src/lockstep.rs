//! The same inputs to the state machine and to the hardware, decision by decision.
//!
//! An input is offered in each cycle in which one is taken: those before it are hashed meanwhile,
//! or decided about. A decision must be the same. What it makes possible must be given to the same
//! core, before the next input is decided about, as a log is recorded.

use crate::rtl::{Rtl, Shown, Unsupported};
use crate::traffic::{Mix, Traffic};
use nebula_nic::decision::Decides;
use nebula_nic::{Backend, BackendConfig, Decision, Dispatch, Freed, Input, NackReason, Span, Timestamp, Verdict};
use std::collections::VecDeque;
use std::fmt;

/// Time from one input to the next.
const STEP: Span = Span::from_ps(500);

/// Cycles that an input has for its hashes before the back end takes it, as many whatever comes:
/// `hash_ahead`.
const HASH_CYCLES: f64 = 5.0;

/// A run: which model, which server, which traffic.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// The model, as in models.txt.
    pub model: &'static str,
    /// The server, before [`Mix::configure`].
    pub config: BackendConfig,
    /// What comes.
    pub mix: Mix,
    /// How many inputs.
    pub inputs: u64,
    /// What the inputs are drawn with.
    pub seed: u64,
    /// What the registers begin with.
    pub x_seed: u64,
}

/// What a run came to.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Inputs that agreed.
    pub inputs: u64,
    /// RPCs whose first packet was written, and packets written in all.
    pub writes: u64,
    /// RPCs refused, by the code of the reason.
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
    /// By how many cycles passed from the one in which an input was offered to the one in which it
    /// was decided about: how many inputs.
    pub waited: Vec<u64>,
    /// The most cycles from a decision to the dispatch that it made possible.
    pub dispatch_cycles_max: u64,
}

impl Report {
    /// Inputs decided about in a cycle.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a ratio")]
    pub fn inputs_per_cycle(&self) -> f64 {
        self.inputs as f64 / self.cycles.max(1) as f64
    }

    /// The squared coefficient of variation of the cycles from an input to the decision about it,
    /// without those in which it is hashed while others are too: which is what queues see of their
    /// distribution.
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
    /// Which input, from 0.
    pub number: u64,
    /// The input.
    pub input: Input,
    /// What the state machine decided, and what the hardware did.
    pub what: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "input {} differs: {}: {}", self.number, self.input, self.what)
    }
}

/// Why a run did not come to its end.
#[derive(Clone, Debug)]
pub enum Failure {
    /// The hardware does not do that.
    Unsupported(Unsupported),
    /// It decided otherwise.
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
    /// Runs it, up to the first difference.
    ///
    /// # Errors
    ///
    /// What the hardware does not do, or the first difference.
    ///
    /// # Panics
    ///
    /// If the configuration is none that a back end can have.
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

/// A decision takes no longer than this, or something hangs.
const CYCLES_MAX: u64 = 1_000_000;

/// What the hardware is to decide.
struct Awaited {
    number: u64,
    input: Input,
    /// The cycle in which the input was offered.
    offered: u64,
    decision: Option<Decision>,
    /// What that makes possible.
    dispatch: Option<Dispatch>,
}

/// Both.
struct Pair {
    soft: Backend,
    rtl: Rtl,
    /// The inputs that were taken, and are not decided about yet.
    decides: VecDeque<Awaited>,
    /// The input that was decided about last.
    last: (u64, Input),
    /// What is to be given to a core, and the cycle of the decision that has made it possible.
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

    /// An input a cycle, and RPCs given to cores as soon as they can be. Returns what was given
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
        // After an end the abandoned RPCs are asked for first, as the back end's contract says.
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

    /// What a cycle has shown, as the state machine has it.
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

    /// Cores fetch what waits: nothing is given to them otherwise.
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
        // A dispatch goes on meanwhile; it is asked for with the next input.
        loop {
            let both = (self.soft.poll_abandoned(), self.rtl.poll_abandoned());
            if same("abandoned", both.0, both.1)?.is_none() {
                return Ok(());
            }
            self.report.abandoned += 1;
        }
    }
}

/// The decision of both, if it is the same.
fn same<T: PartialEq + fmt::Debug>(what: &str, soft: T, rtl: T) -> Result<T, String> {
    if soft == rtl { Ok(soft) } else { Err(format!("{what}: the state machine {soft:?}, the hardware {rtl:?}")) }
}
