//! A measured window in parts, for intervals: each part's contribution, and batch means.
//!
//! Parts have equally many RPCs and are read off the tally at their ends, so an RPC costs nothing
//! more. In the event-driven machines a part ends when so many RPCs have ended, in the recursions
//! when so many have arrived; only RPCs in service at its end differ.

use super::Tally;
use super::distribution::Distribution;
use crate::interval::cells::Cells;

const BATCHES: u32 = 8;

#[derive(Clone, Debug, Default)]
pub(crate) struct Section {
    pub(crate) ended: u64,
    pub(crate) served: u64,
    pub(crate) window_ps: u64,
    /// Latencies of the RPCs served, and their sum in picoseconds.
    pub(crate) latency: Cells,
    pub(crate) latency_ps: f64,
    /// Slowdowns of the RPCs of a mix in thousandths; empty unless the service times are a mix.
    pub(crate) slowdown: Cells,
}

impl Section {
    pub(crate) fn with(&self, other: &Self) -> Self {
        Self {
            ended: self.ended + other.ended,
            served: self.served + other.served,
            window_ps: self.window_ps + other.window_ps,
            latency: self.latency.with(&other.latency),
            latency_ps: self.latency_ps + other.latency_ps,
            slowdown: self.slowdown.with(&other.slowdown),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Sections {
    parts: u32,
    rpcs: u64,
    batches: u32,
    /// The number of ended RPCs at which the next batch ends.
    pub(crate) next: u64,
    pub(crate) sections: Vec<Section>,
    /// The mean latency of each batch in picoseconds; an empty batch repeats the one before.
    pub(crate) means: Vec<f64>,
    latency: Distribution,
    slowdown: Distribution,
    counts: [u64; 3],
    sum: u128,
    batch: (u64, u128),
}

impl Sections {
    /// A window in `parts` parts; `None` without parts, or without an RPC for each batch.
    pub(crate) fn of(parts: u32, rpcs: u64) -> Option<Self> {
        let mut sections = Self {
            parts,
            rpcs,
            batches: 0,
            next: 0,
            sections: Vec::with_capacity(parts as usize),
            means: Vec::with_capacity((parts * BATCHES) as usize),
            latency: Distribution::new(),
            slowdown: Distribution::new(),
            counts: [0; 3],
            sum: 0,
            batch: (0, 0),
        };
        (parts > 0 && rpcs >= u64::from(parts * BATCHES)).then(|| {
            sections.next = sections.end_of(1);
            sections
        })
    }

    /// The RPCs of each batch of a window; of the whole window if it has no parts.
    pub(crate) fn ends(parts: u32, rpcs: u64) -> impl Iterator<Item = u64> {
        let sections = Self::of(parts, rpcs);
        let batches = sections.as_ref().map_or(1, |sections| sections.parts * BATCHES);
        let end = move |batch| sections.as_ref().map_or(rpcs * u64::from(batch), |sections| sections.end_of(batch));
        (0..batches).map(move |batch| end(batch + 1) - end(batch))
    }

    #[expect(clippy::cast_possible_truncation, reason = "at most the number of RPCs")]
    fn end_of(&self, batch: u32) -> u64 {
        (u128::from(self.rpcs) * u128::from(batch) / u128::from(self.parts * BATCHES)) as u64
    }

    /// Ends a batch, and a part with its last batch.
    #[cold]
    #[inline(never)]
    pub(crate) fn mark(&mut self, tally: &Tally) {
        let (count, sum) = (tally.latency.count(), tally.latency.sum());
        let (of_batch, sum_of_batch) = (count - self.batch.0, sum - self.batch.1);
        let mean = if of_batch == 0 { None } else { Some(sum_of_batch as f64 / of_batch as f64) };
        self.means.push(mean.or(self.means.last().copied()).unwrap_or(0.0));
        self.batch = (count, sum);
        self.batches += 1;
        self.next = if self.batches < self.parts * BATCHES { self.end_of(self.batches + 1) } else { u64::MAX };
        if self.batches.is_multiple_of(BATCHES) {
            self.end_part(tally);
        }
    }

    fn end_part(&mut self, tally: &Tally) {
        let counts = [tally.ended(), tally.served, tally.window.as_ps()];
        let [ended, served, window_ps] = [0, 1, 2].map(|index| counts[index] - self.counts[index]);
        let slowdown = match tally.by_type.is_empty() {
            true => Cells::default(),
            false => tally.slowdown().since(&mut self.slowdown),
        };
        self.sections.push(Section {
            ended,
            served,
            window_ps,
            latency: tally.latency.since(&mut self.latency),
            latency_ps: (tally.latency.sum() - self.sum) as f64,
            slowdown,
        });
        (self.counts, self.sum) = (counts, tally.latency.sum());
    }
}
