//! How often each method of a service is called, and how long its handler takes.

use super::context::Context;
use super::serve::{self, Methods};
use super::service::ServiceInfo;
use nebula::Reply;
use nebula::{Class, Description, Service};
use nebula_nic::Span;
use nebula_sys::clock::Clock;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Buckets of an octave of time: a quantile is exact to an eighth.
const PARTS: u64 = 8;
const BUCKETS: usize = 42 * 8;
const _: () = assert!(BUCKETS as u64 == 42 * PARTS, "octaves of parts");

/// A typed service whose methods are counted and timed.
///
/// # Examples
///
/// ```ignore
/// let shop = Measured::new(ShopServer(Shop::default()));
/// let stats = shop.stats();
/// let server = Server::bind("shm://shop").serve(shop)?;
/// for method in stats.read() {
///     println!("{}: {} calls, p99 {}", method.name, method.calls, method.p99);
/// }
/// ```
///
/// # Cost
///
/// Two clock reads and three additions for an RPC; 3 KiB for each method.
#[derive(Debug)]
pub struct Measured<M> {
    methods: M,
    stats: Stats,
    clock: Clock,
}

impl<M: Methods> Measured<M> {
    /// Measures the methods of this service.
    #[must_use]
    pub fn new(methods: M) -> Self {
        Self { methods, stats: Stats::of(&M::SERVICE), clock: Clock::new() }
    }

    /// The counters, to be read while the service is served.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.stats.clone()
    }
}

impl<M: Methods> Methods for Measured<M> {
    const SERVICE: ServiceInfo = M::SERVICE;
    const HAS_LONG: bool = M::HAS_LONG;
    const METHODS: &'static [u16] = M::METHODS;

    fn class(method: u16) -> Class {
        M::class(method)
    }

    #[inline]
    fn call(&self, context: &Context<'_>, body: &[u8], reply: &mut Reply<'_>) {
        let began = self.clock.ticks();
        self.methods.call(context, body, reply);
        let took_ps = self.clock.ps(self.clock.ticks().wrapping_sub(began));
        self.stats.note(context.method(), took_ps);
    }
}

impl<M: Methods> Service for Measured<M> {
    #[inline]
    fn serve(&self, request: &[u8], reply: &mut Reply<'_>) {
        serve::serve(self, request, reply);
    }

    fn describe(&self) -> Description {
        serve::description::<M>()
    }
}

/// The counters of a [`Measured`] service. Clones share them.
#[derive(Clone)]
pub struct Stats {
    service: &'static str,
    methods: Arc<[Counts]>,
}

impl fmt::Debug for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.read()).finish()
    }
}

struct Counts {
    id: u16,
    name: String,
    time_ps: AtomicU64,
    longest_ps: AtomicU64,
    buckets: Box<[AtomicU64]>,
}

/// A method and its calls since the server started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodStats {
    /// The service and the method: `shop.Shop/Price`.
    pub name: String,
    /// RPCs that the handler has answered or taken for later.
    pub calls: u64,
    /// The handler's time on its thread, on average.
    pub mean: Span,
    /// The median of that time, at most an eighth too long; zero without calls.
    pub p50: Span,
    /// The 99th percentile, as exact as the median.
    pub p99: Span,
    /// The longest call.
    pub longest: Span,
}

impl Stats {
    fn of(service: &ServiceInfo) -> Self {
        let schema = service.schema();
        let named = schema.services.into_iter().find(|described| described.name == service.name);
        let mut methods: Vec<Counts> = named.map_or_else(Vec::new, |service| {
            let counts = service.methods.into_iter().filter(|method| !method.removed).map(|method| Counts {
                id: u16::try_from(method.id).unwrap_or(0),
                name: method.name,
                time_ps: AtomicU64::new(0),
                longest_ps: AtomicU64::new(0),
                buckets: (0..BUCKETS).map(|_| AtomicU64::new(0)).collect(),
            });
            counts.collect()
        });
        methods.sort_by_key(|method| method.id);
        Self { service: service.name, methods: methods.into() }
    }

    #[inline]
    fn note(&self, method: u16, took_ps: u64) {
        // Methods are usually numbered from 1 on without gaps.
        let guess = usize::from(method).wrapping_sub(1);
        let counts = match self.methods.get(guess) {
            Some(counts) if counts.id == method => Some(counts),
            _ => self.methods.iter().find(|counts| counts.id == method),
        };
        if let Some(counts) = counts {
            counts.time_ps.fetch_add(took_ps, Relaxed);
            counts.buckets[bucket(took_ps / 1000)].fetch_add(1, Relaxed);
            if took_ps > counts.longest_ps.load(Relaxed) {
                counts.longest_ps.fetch_max(took_ps, Relaxed);
            }
        }
    }

    /// The counters now, in the order of the methods' numbers.
    #[must_use]
    pub fn read(&self) -> Vec<MethodStats> {
        let of = |counts: &Counts| {
            let buckets: Vec<u64> = counts.buckets.iter().map(|bucket| bucket.load(Relaxed)).collect();
            let calls: u64 = buckets.iter().sum();
            let at = |share: u64| Span::from_ns(quantile_ns(&buckets, (calls * share).div_ceil(100)));
            MethodStats {
                name: format!("{}/{}", self.service, counts.name),
                calls,
                mean: Span::from_ps(counts.time_ps.load(Relaxed) / calls.max(1)),
                p50: at(50),
                p99: at(99),
                longest: Span::from_ps(counts.longest_ps.load(Relaxed)),
            }
        };
        self.methods.iter().map(of).collect()
    }
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "a bucket")]
fn bucket(ns: u64) -> usize {
    if ns < PARTS {
        return ns as usize;
    }
    let octave = u64::from(ns.ilog2() - PARTS.ilog2());
    let bucket = (octave + 1) * PARTS + (ns >> octave) % PARTS;
    (bucket as usize).min(BUCKETS - 1)
}

const fn bucket_end_ns(bucket: u64) -> u64 {
    if bucket < PARTS {
        return bucket;
    }
    let octave = bucket / PARTS - 1;
    ((PARTS + bucket % PARTS + 1) << octave) - 1
}

fn quantile_ns(buckets: &[u64], calls: u64) -> u64 {
    let mut seen = 0;
    for (bucket, count) in (0..).zip(buckets) {
        seen += count;
        if seen >= calls && seen > 0 {
            return bucket_end_ns(bucket);
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_lies_in_its_bucket_which_is_an_eighth_of_it_wide_at_most() {
        let mut before = 0;
        for ns in (0..5000).chain((13..41).flat_map(|power| [(1 << power) - 1, 1 << power, (1 << power) + 1])) {
            let bucket = bucket(ns);
            let end = bucket_end_ns(bucket as u64);
            assert!(bucket >= before && end >= ns && end - ns <= ns / 8, "{ns} ns: bucket {bucket} to {end}");
            before = bucket;
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn quantiles_are_those_of_the_calls() {
        let mut buckets = vec![0; BUCKETS];
        (1..=100).for_each(|ns| buckets[bucket(ns)] += 1);
        for calls in [1, 50, 99, 100] {
            let ns = quantile_ns(&buckets, calls);
            assert!(ns >= calls && ns - calls <= calls / 8, "{ns} ns for {calls} of 100");
        }
        assert_eq!(quantile_ns(&[0; 8], 0), 0);
    }
}
