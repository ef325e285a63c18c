//! `jbsq:2` on up to 64 cores, by two times of each core and without events.
//!
//! A core has credit when the NIC knows of the end of its RPC before the last, and is idle when the
//! NIC knows of the end of the last. `nebula-nic` chooses the lowest idle core, else the lowest
//! with credit. That is the core with the least of these numbers:
//!
//! ```text
//!              time         0          before            last
//!                           |   full     |   has credit    |   idle
//! number of core c               c + 2n           c + n           c          n cores
//! ```
//!
//! All cores are compared, in vectors and without a branch, and nothing is kept in order. If all
//! are full, the RPC waits for the least of the times `before`.
//!
//! These times are 32 bits of picoseconds after a base, which moves along.

#![expect(
    clippy::needless_range_loop,
    reason = "loops over cores are alike, so that each becomes a few vector instructions"
)]

use super::one_queue::{Cores, Taken};
use super::terms::Terms;

#[derive(Clone, Debug)]
pub(super) struct TwoEach<const CORES: usize> {
    terms: Terms,
    cores: [Core; CORES],
    /// When each core gets credit, and idle: [`Core::known`] after the base, at most [`LATER`].
    credit_from: [i32; CORES],
    idle_from: [i32; CORES],
    base: u64,
    last_dispatched: u64,
}

#[derive(Clone, Copy, Debug)]
struct Core {
    ended: u64,
    /// When the NIC knows of the end of its RPC before the last, and of its last.
    known: [u64; 2],
}

impl Core {
    const IDLE: Self = Self { ended: 0, known: [0, 0] };
    /// A place without a core: it is never chosen before a core.
    const NONE: Self = Self { ended: 0, known: [u64::MAX; 2] };
}

/// This time after the base, or a later one. No RPC arrives so late before the base has moved.
const LATER: i32 = i32::MAX;

impl<const CORES: usize> TwoEach<CORES> {
    /// Starts with all cores idle. Panics if `cores` is more than `CORES`.
    pub(super) fn new(cores: u16, terms: Terms) -> Self {
        assert!(usize::from(cores) <= CORES, "there is room for {CORES} cores");
        let core = |index| if index < usize::from(cores) { Core::IDLE } else { Core::NONE };
        let cores = std::array::from_fn(core);
        let from = cores.map(|core| after(0, core.known[1]));
        Self { terms, cores, credit_from: from, idle_from: from, base: 0, last_dispatched: 0 }
    }

    #[inline(never)]
    fn move_base(&mut self, now: u64) {
        self.base = now;
        let from = self.credit_from.iter_mut().zip(&mut self.idle_from);
        for (core, (credit_from, idle_from)) in self.cores.iter().zip(from) {
            [*credit_from, *idle_from] = core.known.map(|known| after(now, known));
        }
    }

    /// The core that `nebula-nic` would choose, or a higher number if none has credit.
    #[inline(always)]
    fn choose(&mut self, now: u64) -> usize {
        if now - self.base >= LATER as u64 {
            self.move_base(now);
        }
        let now = after(self.base, now);
        let mut least = i32::MAX;
        for core in 0..CORES {
            let outstanding = i32::from(self.idle_from[core] > now) + i32::from(self.credit_from[core] > now);
            least = least.min(outstanding * index_of(CORES) + index_of(core));
        }
        let least = place(least);
        if least < 2 * CORES { least % CORES } else { CORES }
    }

    /// The first core to get credit; the lowest of several.
    #[inline(always)]
    fn first_credit(&mut self) -> usize {
        let mut first = least(&self.credit_from);
        if first == LATER {
            self.move_base(self.last_dispatched);
            first = least(&self.credit_from);
        }
        if first == LATER { self.first_credit_of_all() } else { place_of(&self.credit_from, first) % CORES }
    }

    /// The same if all cores are far from the base.
    #[cold]
    #[inline(never)]
    fn first_credit_of_all(&self) -> usize {
        let first = self.cores.iter().map(|core| core.known[0]).min();
        self.cores.iter().position(|core| Some(core.known[0]) == first).unwrap_or(0)
    }
}

impl<const CORES: usize> Cores for TwoEach<CORES> {
    const IS_IN_VECTORS: bool = true;

    #[inline(always)]
    fn take(&mut self, arrived: u64, service: u64) -> Taken {
        // An RPC that waits behind another one finds no credit: that one took the last.
        let chosen = if arrived < self.last_dispatched { CORES } else { self.choose(arrived) };
        let (index, dispatched) = if chosen < CORES {
            (chosen, arrived)
        } else {
            let first = self.first_credit();
            (first, self.cores[first].known[0].max(self.last_dispatched))
        };
        self.last_dispatched = dispatched;
        let Terms { dispatch, receive, notify } = self.terms;
        let core = &mut self.cores[index];
        let begun = dispatched.saturating_add(dispatch).max(core.ended);
        let ended = begun.saturating_add(receive).saturating_add(service);
        let known = ended.saturating_add(notify);
        *core = Core { ended, known: [core.known[1], known] };
        self.credit_from[index] = self.idle_from[index];
        self.idle_from[index] = after(self.base, known);
        Taken { dispatched, begun, ended }
    }
}

/// Time from the base to `at`; zero if `at` is earlier.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "at most `LATER`")]
fn after(base: u64, at: u64) -> i32 {
    at.saturating_sub(base).min(LATER as u64) as i32
}

#[inline(always)]
#[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "at most 64")]
const fn index_of(core: usize) -> i32 {
    core as i32
}

#[inline(always)]
fn least<const CORES: usize>(times: &[i32; CORES]) -> i32 {
    times.iter().fold(LATER, |least, &time| least.min(time))
}

#[inline(always)]
fn place_of<const CORES: usize>(times: &[i32; CORES], time: i32) -> usize {
    let mut first = index_of(CORES - 1);
    for core in 0..CORES {
        first = first.min(if times[core] == time { index_of(core) } else { i32::MAX });
    }
    place(first)
}

#[inline(always)]
#[expect(clippy::cast_sign_loss, reason = "a number of cores, or far above all")]
const fn place(number: i32) -> usize {
    number as usize
}
