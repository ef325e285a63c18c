//! The due times of operations.
//!
//! No reply, NACK or full queue can influence a [`Schedule`]. It is drawn from a [`Workload`] and a
//! seed, one operation ahead, or replays the operations of a trace. Arrivals, keys and operations
//! use separate random streams, so that a change of the mix does not change the arrivals.

use nebula_nic::{Span, Timestamp};

use crate::arrivals::{ArrivalProcess, Arrivals};
use crate::error::WorkloadError;
use crate::keys::{Key, KeyPicker, Keys};
use crate::mix::Mix;
use crate::operation::{Op, Operation};
use crate::rate::Rate;
use crate::rng::{Rng, Seed};

/// The end of a synthetic load.
///
/// # Examples
///
/// ```
/// use nebula_nic::{Span, Timestamp};
/// use nebula_workload::{Length, Seed, Workload};
///
/// let length = Length::Duration(Span::from_ms(10));
/// let schedule = Workload { length, ..Workload::default() }.schedule(Seed(1), Timestamp::ZERO)?;
/// assert_eq!(schedule.end() - schedule.start(), Span::from_ms(10));
/// # Ok::<(), nebula_workload::WorkloadError>(())
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Length {
    /// After this much time: the last operation is due before it.
    Duration(Span),
    /// After this many operations.
    Operations(u64),
}

/// A synthetic load, as specified on the command line.
///
/// Several clients share a load by taking `rate` / clients each and a [replica](Seed::replica) of
/// the seed: the sum of Poisson processes is a Poisson process.
///
/// # Examples
///
/// ```
/// use nebula_nic::Timestamp;
/// use nebula_workload::{Length, Seed, Workload};
///
/// let workload = Workload { rate: "200k".parse()?, length: Length::Operations(3), ..Workload::default() };
/// let mut schedule = workload.schedule(Seed(1), Timestamp::ZERO)?;
/// let due = schedule.peek_due().expect("three operations are left");
/// assert_eq!(schedule.pop_due(due).map(|operation| operation.at), Some(due));
/// # Ok::<(), nebula_workload::WorkloadError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// When operations arrive.
    pub arrivals: Arrivals,
    /// Arrivals per second, on average.
    pub rate: Rate,
    /// The popularity of keys.
    pub keys: Keys,
    /// The number of keys.
    pub key_count: u64,
    /// The proportions of operations.
    pub mix: Mix,
    /// The bytes that a SET writes.
    pub value_bytes: u32,
    /// When the load ends.
    pub length: Length,
}

/// NEBULA's key-value evaluation (1.6 M pairs of 16 B and 512 B, half reads), one second at 100 k
/// RPC/s.
impl Default for Workload {
    fn default() -> Self {
        Self {
            arrivals: Arrivals::Poisson,
            rate: Rate::default(),
            keys: Keys::Uniform,
            key_count: 1_600_000,
            mix: Mix::default(),
            value_bytes: 512,
            length: Length::Duration(Span::from_secs(1)),
        }
    }
}

impl Workload {
    /// The schedule of the load from `start`, usually the time at which the clients begin.
    ///
    /// # Errors
    ///
    /// [`WorkloadError::OutOfRange`] for an invalid set of keys; see [`Keys::over`].
    pub fn schedule(&self, seed: Seed, start: Timestamp) -> Result<Schedule, WorkloadError> {
        let synthetic = Synthetic::new(self, seed, start)?;
        Ok(Schedule::from_source(Source::Synthetic(Box::new(synthetic)), self.rate.as_rps(), start))
    }
}

/// The operations of one load in the order in which they are due.
///
/// # Examples
///
/// ```
/// use nebula_nic::Timestamp;
/// use nebula_workload::{Schedule, TraceReader};
///
/// let trace = TraceReader::new("5,get,1,0\n7,get,2,0\n".as_bytes()).collect::<Result<_, _>>()?;
/// let mut schedule = Schedule::from_trace(trace, Timestamp::ZERO);
/// let late = Timestamp::from_ps(6_000_000);
/// assert_eq!(schedule.pop_due(late).map(|operation| operation.key.0), Some(1));
/// assert_eq!(schedule.pop_due(late), None);
/// # Ok::<(), nebula_workload::WorkloadError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Schedule {
    source: Source,
    next: Option<Operation>,
    rate_rps: f64,
    start: Timestamp,
    /// When the last operation taken was due.
    last: Timestamp,
}

// The size that the docs of `from_trace` state.
const _: () = assert!(size_of::<Operation>() == 24);

#[derive(Clone, Debug)]
enum Source {
    Synthetic(Box<Synthetic>),
    Recorded { operations: std::vec::IntoIter<Operation>, start: Timestamp },
}

impl Schedule {
    /// Replays `operations`, whose times count from the start of the trace, from `start` on.
    ///
    /// The whole trace is in memory (24 B per operation) before the load begins: reading a file
    /// meanwhile would disturb the measurement. An operation whose time is before its predecessor's
    /// is due at once.
    #[must_use]
    pub fn from_trace(operations: Vec<Operation>, start: Timestamp) -> Self {
        let duration = operations.last().map_or(Span::ZERO, |operation| operation.at - Timestamp::ZERO);
        let rate_rps = if duration == Span::ZERO { 0.0 } else { operations.len() as f64 / duration.as_secs_f64() };
        let operations = operations.into_iter();
        Self::from_source(Source::Recorded { operations, start }, rate_rps, start)
    }

    fn from_source(mut source: Source, rate_rps: f64, start: Timestamp) -> Self {
        let next = source.next();
        Self { source, next, rate_rps, start, last: start }
    }

    /// When the next operation is due; `None` at the end of the load.
    #[must_use]
    #[inline]
    pub fn peek_due(&self) -> Option<Timestamp> {
        self.next.map(|operation| operation.at)
    }

    /// Takes the next operation if it is due at `now`. A late caller gets every operation in turn,
    /// with the time at which it *should* have been sent. O(1), no allocation.
    #[inline]
    pub fn pop_due(&mut self, now: Timestamp) -> Option<Operation> {
        let operation = self.next.filter(|operation| operation.at <= now)?;
        self.last = operation.at;
        self.next = self.source.next();
        Some(operation)
    }

    /// The intended rate in RPC/s: as configured, or a trace's mean (0 if all its times are equal).
    #[must_use]
    pub fn rate_rps(&self) -> f64 {
        self.rate_rps
    }

    /// When the load begins.
    #[must_use]
    pub fn start(&self) -> Timestamp {
        self.start
    }

    /// When the load ends: as configured; otherwise, when the last operation so far was due.
    #[must_use]
    pub fn end(&self) -> Timestamp {
        match &self.source {
            Source::Synthetic(synthetic) => synthetic.ends_at.unwrap_or(self.last),
            Source::Recorded { .. } => self.last,
        }
    }
}

impl Source {
    #[inline]
    fn next(&mut self) -> Option<Operation> {
        match self {
            Self::Synthetic(synthetic) => synthetic.next(),
            Self::Recorded { operations, start } => {
                let operation = operations.next()?;
                Some(Operation { at: *start + (operation.at - Timestamp::ZERO), ..operation })
            }
        }
    }
}

#[derive(Clone, Debug)]
struct Synthetic {
    arrivals: ArrivalProcess,
    arrival_rng: Rng,
    keys: KeyPicker,
    key_rng: Rng,
    mix: Mix,
    op_rng: Rng,
    value_bytes: u32,
    at: Timestamp,
    /// `None` if the load ends by count.
    ends_at: Option<Timestamp>,
    remaining: u64,
}

impl Synthetic {
    fn new(workload: &Workload, seed: Seed, start: Timestamp) -> Result<Self, WorkloadError> {
        let (ends_at, remaining) = match workload.length {
            Length::Duration(duration) => (Some(start + duration), u64::MAX),
            Length::Operations(count) => (None, count),
        };
        Ok(Self {
            arrivals: workload.arrivals.at(workload.rate),
            arrival_rng: seed.stream("arrivals"),
            keys: workload.keys.over(workload.key_count)?,
            key_rng: seed.stream("keys"),
            mix: workload.mix,
            op_rng: seed.stream("operations"),
            value_bytes: workload.value_bytes,
            at: start,
            ends_at,
            remaining,
        })
    }

    fn next(&mut self) -> Option<Operation> {
        self.remaining = self.remaining.checked_sub(1)?;
        self.at += self.arrivals.next_gap(&mut self.arrival_rng);
        if self.ends_at.is_some_and(|end| self.at >= end) {
            self.remaining = 0;
            return None;
        }
        let key: Key = self.keys.next_key(&mut self.key_rng);
        let op = self.mix.pick(&mut self.op_rng);
        let value_bytes = if op == Op::Set { self.value_bytes } else { 0 };
        Some(Operation { at: self.at, op, key, value_bytes })
    }
}
