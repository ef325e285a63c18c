//! Next to the stations: *whose work comes next, and how much of it?*
//!
//! Sources that have work wait in lines. Each is charged the time and bytes that its work took. Who
//! is furthest below its share comes first; those above theirs come last, one after the other. Each
//! visit has an allowance and ends with it, in the middle of a pipeline or of a long reply.
//!
//! ```text
//!   ask ─▶ how far below the round, in eighths of a quantum? or above?
//!            8 ─▶ ▤ ─┐
//!            4 ─▶ ▤ ─┤
//!            2 ─▶ ▤ ─┼─▶ next ─▶ charge
//!            1 ─▶ ▤ ─┤
//!         less ─▶ ▤ ─┤
//!  above by 2 ─▶ ▤ ─┤             the round: what a source was charged that
//!         more ─▶ ▤ ─┘             always had work and got its share
//! ```
//!
//! So a source that asks for less than its share waits for the visit in progress, and for those who
//! are as far below theirs: a quarter of a quantum each, however much the others send. Sources with
//! more work have equal shares of the rest, and one alone has all of it. While some below their
//! share always wait, one above it is still visited now and then, once the round has passed it.
//!
//! # Source
//!
//! Fair queueing (Demers, Keshav and Shenker, SIGCOMM 1989): its round number. FQ-CoDel (RFC 8290):
//! flows without a backlog come before the others.
//!
//! Departs: a few lines replace the sorted queue, so that each step takes the same time. So the
//! round counts the sources that wait, instead of those that would if all were served at once.

use crate::time::Span;
use alloc::boxed::Box;
use alloc::vec;

/// A byte counts like so much time, unless its time was measured and is longer: 5 GB/s.
const BYTE: Span = Span::from_ps(200);
/// A visit counts at least this: a system call or two.
const VISIT_MIN: Span = Span::from_ns(500);
/// Eighths of a quantum that a source may have before those above their share.
const EIGHTHS_FIRST: u64 = 2;
/// A source so many quanta above its share is passed over while others wait.
const FAR: u64 = 2;
/// The most sources passed over before one is visited.
const PASSED_OVER_MAX: u32 = 8;
/// Visits after which those in the last line have one too, if the round has passed them.
const OVERDUE_AFTER: u32 = 256;
const LINES: usize = 7;
const LAST: usize = LINES - 1;
/// The line of sources that are a little above their share.
const ABOUT: usize = LINES - 2;
/// The last line of those that are below it.
const BELOW: usize = LINES - 3;
/// The list ends here.
const NOWHERE: u32 = u32::MAX;

/// The work of one visit, of which the larger of the two counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// The measured time; zero if there is no clock.
    pub time: Span,
    /// Bytes of requests and replies.
    pub bytes: u64,
}

impl Work {
    /// The time that it counts as.
    #[must_use]
    #[inline]
    pub fn cost(self) -> Span {
        self.time.max(BYTE * self.bytes)
    }
}

/// The source whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visit {
    /// Its number.
    pub source: u32,
    /// How much it may have. A visit ends with the work that exceeds this.
    pub allowance: Span,
}

impl Visit {
    /// The bytes that cost as much as the allowance.
    #[must_use]
    #[inline]
    pub const fn bytes(&self) -> u64 {
        self.allowance.as_ps() / BYTE.as_ps()
    }
}

#[derive(Clone, Copy, Debug)]
struct Account {
    /// The round at which its next work starts.
    tag: u64,
    /// The source behind it in its list.
    behind: u32,
    waits: bool,
}

#[derive(Clone, Copy, Debug)]
struct List {
    head: u32,
    tail: u32,
    sources: u32,
}

impl List {
    const EMPTY: Self = Self { head: NOWHERE, tail: NOWHERE, sources: 0 };

    #[inline]
    fn push(&mut self, accounts: &mut [Account], source: u32) {
        if let Some(tail) = accounts.get_mut(self.tail as usize) {
            tail.behind = source;
        } else {
            self.head = source;
        }
        accounts[source as usize].behind = NOWHERE;
        (self.tail, self.sources) = (source, self.sources + 1);
    }

    #[inline]
    fn pop(&mut self, accounts: &mut [Account]) -> Option<u32> {
        let source = self.head;
        let account = accounts.get_mut(source as usize)?;
        account.waits = false;
        (self.head, self.sources) = (account.behind, self.sources - 1);
        if self.head == NOWHERE {
            self.tail = NOWHERE;
        }
        Some(source)
    }

    fn rotate(&mut self, accounts: &mut [Account]) {
        if let Some(source) = self.pop(accounts) {
            accounts[source as usize].waits = true;
            self.push(accounts, source);
        }
    }
}

/// Charges sources for their work, and chooses which of those that have work comes next.
///
/// # Cost
///
/// Every operation is O(1) and allocates nothing. The memory is 16 bytes a source, fixed.
///
/// # Examples
///
/// ```
/// use nebula_nic::ledger::Work;
/// use nebula_nic::{Ledger, Span};
///
/// let mut ledger = Ledger::new(4, Span::from_us(60));
/// // 1 and 2 always have more work; 3 asks now and then.
/// for source in [1, 2] {
///     ledger.ask(source);
///     let visit = ledger.next_visit().unwrap();
///     ledger.charge(visit.source, Work { time: Span::from_us(60), bytes: 0 });
///     ledger.ask(source);
/// }
/// ledger.ask(3);
/// let order: Vec<u32> = std::iter::from_fn(|| ledger.next_visit().map(|visit| visit.source)).collect();
/// assert_eq!(order, [3, 1, 2]);
/// ```
#[derive(Clone, Debug)]
pub struct Ledger {
    accounts: Box<[Account]>,
    /// From those furthest below their share to those above it.
    lines: [List; LINES],
    /// In nanoseconds, as tags.
    round: u64,
    quantum: Span,
    /// Visits since the last one to a source above its share.
    passed_over: u32,
}

impl Ledger {
    /// For the sources 0 to `sources` - 1, each with at most about `quantum` of a visit.
    #[must_use]
    pub fn new(sources: u32, quantum: Span) -> Self {
        let account = Account { tag: 0, behind: NOWHERE, waits: false };
        let accounts = vec![account; sources as usize].into();
        Self { accounts, lines: [List::EMPTY; LINES], round: 0, quantum, passed_over: 0 }
    }

    /// How much a source may have of a visit.
    #[must_use]
    pub const fn quantum(&self) -> Span {
        self.quantum
    }

    /// Sources that wait.
    #[must_use]
    pub fn waiting(&self) -> u32 {
        self.lines.iter().map(|line| line.sources).sum()
    }

    /// Of those, the ones that are below their share.
    #[must_use]
    pub fn below(&self) -> u32 {
        self.lines[..ABOUT].iter().map(|line| line.sources).sum()
    }

    /// `source` is new: it comes behind those that were here and have had less than their share.
    /// It takes over at most a quantum of the debt that the source before it at this number had.
    #[inline]
    pub fn enter(&mut self, source: u32) {
        let account = &mut self.accounts[source as usize];
        account.tag = account.tag.clamp(self.round, self.round.saturating_add(self.quantum.as_ns()));
    }

    /// `source` has work: it waits for a visit, unless it waits already.
    #[inline]
    pub fn ask(&mut self, source: u32) {
        let line = self.line(self.accounts[source as usize].tag);
        if !core::mem::replace(&mut self.accounts[source as usize].waits, true) {
            self.lines[line].push(&mut self.accounts, source);
        }
    }

    #[inline]
    fn line(&self, tag: u64) -> usize {
        let eighth = (self.quantum.as_ns() / 8).max(1);
        if tag >= self.round {
            return if tag - self.round < eighth * EIGHTHS_FIRST { ABOUT } else { LAST };
        }
        let eighths = (self.round - tag) / eighth;
        BELOW - eighths.checked_ilog2().map_or(0, |log| (log as usize + 1).min(BELOW))
    }

    /// The next source, and how much it may have.
    #[inline]
    pub fn next_visit(&mut self) -> Option<Visit> {
        if self.passed_over >= OVERDUE_AFTER
            && let Some(visit) = self.next_overdue()
        {
            return Some(visit);
        }
        let allowance = self.first_allowance();
        let line = self.lines[..LAST].iter_mut().find(|line| line.sources > 0);
        if let Some(source) = line.and_then(|line| line.pop(&mut self.accounts)) {
            self.passed_over = self.passed_over.saturating_add(1);
            return Some(Visit { source, allowance });
        }
        self.passed_over = 0;
        self.next_above()
    }

    /// One of the last line that the round has passed while others were visited all the time.
    fn next_overdue(&mut self) -> Option<Visit> {
        let line = &mut self.lines[LAST];
        if self.accounts.get(line.head as usize)?.tag > self.round {
            line.rotate(&mut self.accounts);
            return None;
        }
        self.passed_over = 0;
        let source = line.pop(&mut self.accounts)?;
        Some(Visit { source, allowance: self.first_allowance() })
    }

    /// The allowance of those that come before others above their share.
    const fn first_allowance(&self) -> Span {
        Span::from_ps(self.quantum.as_ps() / 8 * EIGHTHS_FIRST)
    }

    fn next_above(&mut self) -> Option<Visit> {
        let (line, accounts) = (&mut self.lines[LAST], &mut self.accounts);
        let far = self.round + FAR * self.quantum.as_ns();
        // Those furthest above their share wait for the others.
        for _ in 0..PASSED_OVER_MAX.min(line.sources.saturating_sub(1)) {
            if accounts[line.head as usize].tag <= far {
                break;
            }
            line.rotate(accounts);
        }
        let source = line.pop(accounts)?;
        self.round = self.round.max(accounts[source as usize].tag);
        Some(Visit { source, allowance: self.quantum })
    }

    /// Charges `source` for `work`.
    #[inline]
    pub fn charge(&mut self, source: u32, work: Work) {
        let (cost, others) = (work.cost().max(VISIT_MIN).as_ns(), self.waiting());
        let account = &mut self.accounts[source as usize];
        account.tag = account.tag.max(self.round).saturating_add(cost);
        // A piece longer than a visit does not move the round past those that wait behind it.
        let shared = cost.min(self.quantum.as_ns());
        self.round = self.round.saturating_add(shared / u64::from(others + 1));
    }
}
