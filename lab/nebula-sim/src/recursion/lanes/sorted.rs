//! Any service times on some cores: a sorted list of the times at which the cores are free.
//!
//! Sixteen RPCs take their cores from the first sixteen times and from their own ends, so an RPC
//! looks at sixteen cores only. It removes the first time and inserts its end, so that each time in
//! the list is `min(next, max(here, ended))`. After sixteen RPCs a bitonic network (Batcher,
//! "Sorting networks and their applications", 1968) merges the sixteen times with the others, a
//! group at a time. No step has a branch or an address that depends on a time.
//!
//! Indexed loops fill registers: closures of [`from_fn`](std::array::from_fn) and of iterators lack
//! the caller's vector instructions, and an RPC costs six times as much unless they are inlined.

#![expect(
    clippy::needless_range_loop,
    reason = "loops over registers are unrolled, and an iterator's adapters may stay calls"
)]

use super::counts::Counts;
use super::draws::Services;
use super::lane::{BLOCK, Each, LANES, Serve};
use pulp::Simd;

pub(super) struct Sorted<'a> {
    services: Services<'a>,
    /// When the cores are free, the first one first, and then times that never come.
    free: Box<[Group]>,
}

/// Cores of a group, and RPCs between merges.
const GROUP: usize = 16;

/// When the cores of a group are free, each row of lanes in one cache line.
#[repr(align(64))]
#[derive(Clone, Copy)]
struct Group([Each<f64>; GROUP]);

/// A group in registers, with as many lanes as one register holds.
type Registers<V> = [<V as Simd>::f64s; GROUP];

const NEVER: f64 = f64::INFINITY;

impl<'a> Sorted<'a> {
    pub(super) fn new(cores: u16, services: Services<'a>) -> Self {
        let mut free = vec![Group([[NEVER; LANES]; GROUP]); usize::from(cores).div_ceil(GROUP)];
        free.iter_mut().flat_map(|group| &mut group.0).take(usize::from(cores)).for_each(|core| *core = [0.0; LANES]);
        Self { services, free: free.into() }
    }
}

impl Serve for Sorted<'_> {
    #[inline(always)]
    fn serve<V: Simd>(&mut self, vectors: V, arrived: &[Each<f64>; BLOCK], counts: &mut Counts) {
        let mut times = [[0.0; LANES]; BLOCK];
        self.services.next(&mut times);
        for (arrived, times) in arrived.chunks_exact(GROUP).zip(times.chunks_exact_mut(GROUP)) {
            for lanes in 0..LANES / V::F64_LANES {
                let mut first = load(vectors, &self.free[0], lanes);
                give_out(vectors, lanes, &mut first, arrived, times);
                merge_all(vectors, lanes, first, &mut self.free);
            }
        }
        counts.note(&times);
    }
}

/// Gives RPCs to the `first` cores. `times` holds their service times, then their latencies.
#[inline(always)]
fn give_out<V: Simd>(
    vectors: V,
    lanes: usize,
    first: &mut Registers<V>,
    arrived: &[Each<f64>],
    times: &mut [Each<f64>],
) {
    for (arrived, time) in arrived.iter().zip(times) {
        let arrived = V::as_simd_f64s(arrived).0[lanes];
        let time = &mut V::as_mut_simd_f64s(time).0[lanes];
        let ended = vectors.add_f64s(vectors.max_f64s(arrived, first[0]), *time);
        *time = vectors.sub_f64s(ended, arrived);
        for place in 0..GROUP - 1 {
            first[place] = vectors.min_f64s(first[place + 1], vectors.max_f64s(first[place], ended));
        }
        first[GROUP - 1] = vectors.max_f64s(first[GROUP - 1], ended);
    }
}

#[inline(always)]
fn merge_all<V: Simd>(vectors: V, lanes: usize, first: Registers<V>, free: &mut [Group]) {
    let mut last = first;
    for group in 1..free.len() {
        let (low, high) = merge(vectors, last, load(vectors, &free[group], lanes));
        store::<V>(&mut free[group - 1], lanes, low);
        last = high;
    }
    store::<V>(&mut free[free.len() - 1], lanes, last);
}

/// The lower and the upper half of two sorted groups, each sorted.
#[inline(always)]
fn merge<V: Simd>(vectors: V, one: Registers<V>, other: Registers<V>) -> (Registers<V>, Registers<V>) {
    let (mut low, mut high) = (one, one);
    for place in 0..GROUP {
        let mirrored = other[GROUP - 1 - place];
        low[place] = vectors.min_f64s(one[place], mirrored);
        high[place] = vectors.max_f64s(one[place], mirrored);
    }
    (sort_bitonic(vectors, low), sort_bitonic(vectors, high))
}

/// Sorts times that rise and then fall, or fall and then rise.
#[inline(always)]
fn sort_bitonic<V: Simd>(vectors: V, mut times: Registers<V>) -> Registers<V> {
    times = exchange::<V, 8>(vectors, times);
    times = exchange::<V, 4>(vectors, times);
    times = exchange::<V, 2>(vectors, times);
    exchange::<V, 1>(vectors, times)
}

/// Puts each two times that are `APART` places apart in order.
#[inline(always)]
fn exchange<V: Simd, const APART: usize>(vectors: V, mut times: Registers<V>) -> Registers<V> {
    for place in 0..GROUP {
        if place & APART == 0 {
            let (one, other) = (times[place], times[place + APART]);
            times[place] = vectors.min_f64s(one, other);
            times[place + APART] = vectors.max_f64s(one, other);
        }
    }
    times
}

#[inline(always)]
fn load<V: Simd>(vectors: V, group: &Group, lanes: usize) -> Registers<V> {
    let mut times = [vectors.splat_f64s(0.0); GROUP];
    for place in 0..GROUP {
        times[place] = V::as_simd_f64s(&group.0[place]).0[lanes];
    }
    times
}

#[inline(always)]
fn store<V: Simd>(group: &mut Group, lanes: usize, times: Registers<V>) {
    for place in 0..GROUP {
        V::as_mut_simd_f64s(&mut group.0[place]).0[lanes] = times[place];
    }
}
