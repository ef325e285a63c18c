//! The calendar's sources, and why a run ends early.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The NIC's buffer is full. The model assumes an unbounded one, so the run restarts with a
    /// larger one and the same seed.
    NoRoom,
    /// The end of the calendar was reached, after this many hours.
    NoTime(u64),
}

/// Sources in the calendar after the cores.
pub(crate) const ARRIVAL: usize = 0;

pub(crate) const READY: usize = 1;
