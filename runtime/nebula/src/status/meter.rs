//! A worker's end of the status page: it samples one RPC in 64, and counts in memory that only it
//! writes.
//!
//! A random distance, 64 on average, leads to the next sample, so that no pattern of the load
//! coincides with it: slow and fast RPCs are equally likely. The clock is read only for a sample,
//! around the handler. All RPCs of one run count as equally long.

use super::histogram::bucket_of;
use super::layout::{Kind, Layout, Sum, WORKER_WORDS, histogram_at};
use super::sample::{self, RpcSample, latest_at, slow_at};
use crate::net::Watch;
use crate::rpc::description::Description;
use nebula_nic::{Arrival, Run, Timestamp};
use nebula_sys::shared::SharedMemory;
use nebula_sys::sync::{AtomicU64, Ordering};
use std::num::NonZeroU64;
use std::sync::Arc;

/// Distances are 1 to this, so half of it on average.
const DISTANCE_MAX: u32 = 128;
/// Samples between two looks at the service's counters.
const SAMPLES_PER_STORE: u64 = 16;
/// Rests between two looks at the service's counters.
const RESTS_PER_STORE: u32 = 64;
/// The bound of slow samples falls with each sample by this power of two.
const SLOW_FADES: u32 = 10;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Served {
    pub(crate) arrival: Arrival,
    pub(crate) rpcs: u32,
    /// The difference of the numbers of two consecutive RPCs.
    pub(crate) step: u32,
    pub(crate) given_ps: u64,
    pub(crate) is_steered: bool,
    pub(crate) begun_ps: u64,
    pub(crate) ended_ps: u64,
}

#[derive(Debug)]
pub(crate) struct Meter {
    /// RPCs until the next sample, minus one; negative if it is due.
    left: i32,
    distance: u32,
    random: u32,
    slow_ps: u64,
    rests: u32,
    watch: Watch,
    /// `None` if nothing is measured.
    page: Option<Page>,
}

#[derive(Debug)]
struct Page {
    memory: Arc<SharedMemory>,
    at: usize,
    /// `None` if another worker writes the service's counters, or there are none.
    store_at: Option<usize>,
    /// Whether this is the worker that writes the service's counters while it serves.
    is_first: bool,
    description: Description,
}

/// A worker's words, which only its thread writes.
#[derive(Clone, Copy)]
struct Words<'a>(&'a [AtomicU64; WORKER_WORDS]);

impl Words<'_> {
    #[inline(always)]
    fn add(self, at: usize, value: u64) -> u64 {
        let sum = self.0[at].load(Ordering::Relaxed).wrapping_add(value);
        self.0[at].store(sum, Ordering::Relaxed);
        sum
    }

    #[inline(always)]
    fn count(self, kind: Kind, ps: u64) {
        self.add(histogram_at(kind) + bucket_of(ps), 1);
        self.add(kind.sum() as usize, ps);
    }
}

impl Page {
    #[inline(always)]
    fn words(&self) -> Words<'_> {
        Words(self.memory.words()[self.at..].first_chunk().expect("the page has room for every worker"))
    }

    fn put_store(&self) {
        if let (Some(at), Some(counters)) = (self.store_at, &self.description.store) {
            let words = &self.memory.words()[at..];
            // Once more, if another worker may have written newer ones meanwhile.
            let mut latest = counters().to_words();
            for _ in 0..2 {
                words.iter().zip(latest).for_each(|(word, value)| word.store(value, Ordering::Relaxed));
                let seen = counters().to_words();
                if std::mem::replace(&mut latest, seen) == seen {
                    break;
                }
            }
        }
    }
}

impl Meter {
    pub(crate) fn new(
        memory: Arc<SharedMemory>,
        layout: Layout,
        (engine, worker): (usize, usize),
        watch: &Watch,
        description: &Description,
    ) -> Self {
        let store_at = description.store.is_some().then(|| layout.store_at());
        let (at, is_first) = (layout.worker_at(worker), worker == 0);
        let page = Page { memory, at, store_at, is_first, description: description.clone() };
        page.words().0[Sum::Engine as usize].store(engine as u64, Ordering::Relaxed);
        // Any seed but 0, different for each worker so that they do not sample in step.
        let random = u32::try_from(worker).unwrap_or(0).wrapping_mul(0x9E37_79B9) | 1;
        Self { page: Some(page), ..Self::off(random, watch) }
    }

    pub(crate) fn none(watch: &Watch) -> Self {
        Self { left: i32::MAX, ..Self::off(1, watch) }
    }

    fn off(random: u32, watch: &Watch) -> Self {
        Self { left: 0, distance: 1, random, slow_ps: 0, rests: 0, watch: watch.clone(), page: None }
    }

    /// Counts `rpcs` RPCs, at most a burst. Returns whether to sample one of them.
    #[inline(always)]
    #[must_use]
    pub(crate) fn is_due(&mut self, rpcs: u32) -> bool {
        self.left = self.left.wrapping_sub_unsigned(rpcs);
        self.left < 0
    }

    /// As [`is_due`](Self::is_due), before they are served: the time, if one is to be sampled.
    #[inline(always)]
    #[must_use]
    pub(crate) fn begin(&mut self, rpcs: u32) -> Option<NonZeroU64> {
        if self.is_due(rpcs) { NonZeroU64::new(self.now_ps()) } else { None }
    }

    #[inline(always)]
    pub(crate) fn now_ps(&self) -> u64 {
        self.watch.now_ps()
    }

    /// Samples RPCs of a run from `begun_ps` until now; `arrival` is that of the first.
    #[cold]
    #[inline(never)]
    pub(crate) fn sample_run(&mut self, run: &Run, arrival: Arrival, begun_ps: u64) {
        let (given_ps, ended_ps) = (begun_ps, self.now_ps());
        let (rpcs, step) = (run.rpcs, run.burst.step);
        self.sample(Served { arrival, rpcs, step, given_ps, is_steered: false, begun_ps, ended_ps });
    }

    /// Samples the due RPCs among those served last, and writes the service's counters once in a
    /// while.
    #[cold]
    #[inline(never)]
    pub(crate) fn sample(&mut self, served: Served) {
        let each_ps = match served.rpcs {
            0 | 1 => served.ended_ps.saturating_sub(served.begun_ps),
            rpcs => served.ended_ps.saturating_sub(served.begun_ps) / u64::from(rpcs),
        };
        let mut before = u32::try_from(self.left.wrapping_add_unsigned(served.rpcs)).unwrap_or(0);
        while self.left < 0 {
            let Some(page) = &self.page else {
                self.left = i32::MAX;
                return;
            };
            let words = page.words();
            words.add(Sum::Served as usize, self.distance.into());
            words.add(Sum::BusyPs as usize, each_ps * u64::from(self.distance));
            self.slow_ps = count(words, &served, (each_ps, before), self.slow_ps);
            self.distance = self.draw();
            self.left = self.left.wrapping_add_unsigned(self.distance);
            before += self.distance;
        }
        self.note_store();
    }

    /// The next distance: xorshift.
    fn draw(&mut self) -> u32 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 17;
        self.random ^= self.random << 5;
        self.random % DISTANCE_MAX + 1
    }

    fn note_store(&self) {
        if let Some(page) = self.page.as_ref().filter(|page| page.is_first && page.store_at.is_some()) {
            let samples = page.words().0[Sum::Sampled as usize].load(Ordering::Relaxed);
            if samples.is_multiple_of(SAMPLES_PER_STORE) {
                page.put_store();
            }
        }
    }

    /// As [`note_store`](Self::note_store), when the worker is about to rest.
    pub(crate) fn note_rest(&mut self) {
        self.rests = self.rests.wrapping_add(1);
        let is_due = self.rests.is_multiple_of(RESTS_PER_STORE);
        if let Some(page) = self.page.as_ref().filter(|page| is_due && page.is_first) {
            page.put_store();
        }
    }

    /// As [`note_rest`](Self::note_rest), by whichever worker is about to sleep: the first may
    /// sleep while others serve.
    #[cold]
    pub(crate) fn note_sleep(&self) {
        self.page.iter().for_each(Page::put_store);
    }

    pub(crate) fn note_end(&self) {
        self.page.iter().for_each(Page::put_store);
    }
}

/// Writes a sample, `before` RPCs after the first. Returns the new bound for slow samples.
fn count(words: Words<'_>, served: &Served, (each_ps, before): (u64, u32), slow_ps: u64) -> u64 {
    let Arrival { mut rpc, bytes, arrived, .. } = served.arrival;
    rpc.tid.0 = rpc.tid.0.wrapping_add(before.wrapping_mul(served.step));
    let sample = RpcSample {
        rpc,
        worker: 0,
        bytes,
        run: served.rpcs,
        arrived_ps: arrived.as_ps(),
        given_ps: served.given_ps,
        is_steered: served.is_steered,
        begun_ps: served.begun_ps + each_ps * u64::from(before),
        ended_ps: served.ended_ps,
    };
    let latency_ps = sample.latency().as_ps();
    words.count(Kind::Latency, latency_ps);
    words.count(Kind::Waiting, sample.waiting().as_ps());
    words.count(Kind::Service, each_ps);
    let number = words.add(Sum::Sampled as usize, 1);
    sample::write(words.0, latest_at(number), number, sample);
    let faded_ps = slow_ps - (slow_ps >> SLOW_FADES);
    if latency_ps <= faded_ps {
        return faded_ps;
    }
    let slow = words.add(Sum::Slow as usize, 1);
    sample::write(words.0, slow_at(slow), number, sample);
    latency_ps
}

impl Served {
    pub(crate) fn one(arrival: Arrival, given: Timestamp, is_steered: bool, begun_ps: u64, ended_ps: u64) -> Self {
        // An RPC that its worker took by itself was not given before.
        let given_ps = if given == Timestamp::ZERO { begun_ps } else { given.as_ps() };
        Self { arrival, rpcs: 1, step: 0, given_ps, is_steered, begun_ps, ended_ps }
    }
}
