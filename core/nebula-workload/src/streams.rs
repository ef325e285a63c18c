//! Several streams side by side, in vectors: each draws the numbers that it would draw alone.

#![expect(
    clippy::needless_range_loop,
    reason = "loops over lanes are alike, so that each becomes one vector instruction"
)]

use crate::rng::{self, Rng, retreat};
use rand_core::RngCore;
use rand_distr::{Distribution, Exp1};
use std::sync::LazyLock;

/// Streams side by side.
///
/// # Examples
///
/// ```
/// use nebula_workload::{Seed, Streams};
///
/// let each = [1, 2, 3, 4].map(|seed| Seed(seed).stream("arrivals"));
/// let mut together = Streams::new(each.clone());
/// let mut draws = [[0.0; 4]; 10];
/// together.fill_exponential(&mut draws);
/// for (lane, mut alone) in each.into_iter().enumerate() {
///     assert!(draws.iter().all(|row| row[lane] == alone.exponential()));
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Streams<const N: usize> {
    state: [Word<N>; 4],
    ziggurat: Box<Ziggurat>,
}

/// One of the four words of each stream's state. Aligned, so that the compiler makes vectors of
/// lanes instead of across words.
#[repr(align(128))]
#[derive(Clone, Copy, Debug)]
struct Word<const N: usize>([u64; N]);

/// The layers of the exponential law, from the widest on: where each ends, and above it where the
/// next layer up ends, as the bits of two `f64`. A draw below the second is inside a rectangle.
// One number for both, so that the compiler loads them one by one: gather instructions take 30
// cycles on processors with a microcode guard (Intel, "Gather Data Sampling", 2023), four times as
// long as these loads.
#[derive(Clone, Debug)]
struct Ziggurat([u128; LAYERS]);

const LAYERS: usize = 256;

impl<const N: usize> Streams<N> {
    /// These streams, each from its present state.
    #[must_use]
    pub fn new(streams: [Rng; N]) -> Self {
        let state = std::array::from_fn(|word| Word(std::array::from_fn(|lane| streams[lane].0[word])));
        Self { state, ziggurat: Box::new(Ziggurat::new()) }
    }

    /// Draws rows of numbers from the exponential distribution with mean 1; each column has the
    /// numbers that its stream alone draws with [`Rng::exponential`]. Cost: with vectors of `N`
    /// numbers some thirty instructions a row; every ninetieth number is drawn alone.
    #[inline(always)]
    pub fn fill_exponential(&mut self, rows: &mut [[f64; N]]) {
        let Self { state, ziggurat } = self;
        fill_exponential(state, ziggurat, rows);
    }

    /// Draws rows of 64 random bits; each column has the numbers that its stream alone draws.
    #[inline(always)]
    pub fn fill_bits(&mut self, rows: &mut [[u64; N]]) {
        for row in rows {
            *row = advance(&mut self.state);
        }
    }

    /// Draws from one of the streams.
    #[inline(always)]
    pub fn with_one<R>(&mut self, lane: usize, draw: impl FnOnce(&mut Rng) -> R) -> R {
        let mut alone = alone(&self.state, lane);
        let drawn = draw(&mut alone);
        put_back(&mut self.state, lane, &alone);
        drawn
    }
}

// Plain loops over lanes, each of one operation: the compiler makes a vector instruction of each.

#[inline(always)]
fn fill_exponential<const N: usize>(state: &mut [Word<N>; 4], ziggurat: &Ziggurat, rows: &mut [[f64; N]]) {
    for row in rows {
        let bits = advance(state);
        let (mut edges, mut above) = ([0.0; N], [0.0; N]);
        for lane in 0..N {
            (edges[lane], above[lane]) = halves(ziggurat.0[layer(bits[lane])]);
        }
        let mut drawn = [0.0; N];
        for lane in 0..N {
            drawn[lane] = between_0_and_1(bits[lane]) * edges[lane];
        }
        let (mut within, mut are_all_within) = ([false; N], true);
        for lane in 0..N {
            within[lane] = drawn[lane] < above[lane];
        }
        for lane in 0..N {
            are_all_within &= within[lane];
        }
        *row = drawn;
        if !are_all_within {
            draw_again(state, &within, row);
        }
    }
}

/// The draws of one stream, its state in registers. Draws outside a rectangle take the general way.
pub(crate) fn fill_exponential_alone(rng: &mut Rng, draws: &mut [f64]) {
    static ZIGGURAT: LazyLock<Ziggurat> = LazyLock::new(Ziggurat::new);
    let ziggurat = &*ZIGGURAT;
    // As an array they would stay in memory.
    let [mut a, mut b, mut c, mut d] = rng.0;
    for draw in draws {
        let (bits, next) = rng::advance([a, b, c, d]);
        let (edge, above) = halves(ziggurat.0[layer(bits)]);
        let mut drawn = between_0_and_1(bits) * edge;
        if drawn < above {
            [a, b, c, d] = next;
        } else {
            (drawn, [a, b, c, d]) = draw_outside(a, b, c, d);
        }
        *draw = drawn;
    }
    rng.0 = [a, b, c, d];
}

/// By value, so that the state of the loop above has no address.
#[cold]
#[inline(never)]
fn draw_outside(a: u64, b: u64, c: u64, d: u64) -> (f64, [u64; 4]) {
    let mut alone = Rng([a, b, c, d]);
    (alone.exponential(), alone.0)
}

#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "eight bits")]
const fn layer(bits: u64) -> usize {
    bits as usize % LAYERS
}

#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "each half is looked at")]
const fn halves(layer: u128) -> (f64, f64) {
    (f64::from_bits(layer as u64), f64::from_bits((layer >> 64) as u64))
}

/// [One step](crate::rng::advance) of each stream.
#[inline(always)]
fn advance<const N: usize>([Word(a), Word(b), Word(c), Word(d)]: &mut [Word<N>; 4]) -> [u64; N] {
    let (mut drawn, mut shifted) = ([0; N], [0; N]);
    for lane in 0..N {
        drawn[lane] = a[lane].wrapping_add(d[lane]).rotate_left(23).wrapping_add(a[lane]);
    }
    for lane in 0..N {
        shifted[lane] = b[lane] << 17;
    }
    for lane in 0..N {
        c[lane] ^= a[lane];
    }
    for lane in 0..N {
        d[lane] ^= b[lane];
    }
    for lane in 0..N {
        b[lane] ^= c[lane];
    }
    for lane in 0..N {
        a[lane] ^= d[lane];
    }
    for lane in 0..N {
        c[lane] ^= shifted[lane];
    }
    for lane in 0..N {
        d[lane] = d[lane].rotate_left(45);
    }
    drawn
}

/// Draws the numbers not `within` a rectangle again, each by its stream, from before this row on.
#[cold]
#[inline(never)]
fn draw_again<const N: usize>(state: &mut [Word<N>; 4], within: &[bool; N], row: &mut [f64; N]) {
    for lane in 0..N {
        if !within[lane] {
            let mut alone = Rng(retreat(alone(state, lane).0));
            row[lane] = alone.exponential();
            put_back(state, lane, &alone);
        }
    }
}

#[inline(always)]
const fn alone<const N: usize>([a, b, c, d]: &[Word<N>; 4], lane: usize) -> Rng {
    Rng([a.0[lane], b.0[lane], c.0[lane], d.0[lane]])
}

#[inline(always)]
const fn put_back<const N: usize>([a, b, c, d]: &mut [Word<N>; 4], lane: usize, alone: &Rng) {
    [a.0[lane], b.0[lane], c.0[lane], d.0[lane]] = alone.0;
}

/// The ziggurat's number between 0 and 1 for 64 random bits: the middle of one of 2⁵² parts.
#[inline(always)]
fn between_0_and_1(bits: u64) -> f64 {
    f64::from_bits(bits >> 12 | 1.0_f64.to_bits()) - (1.0 - f64::EPSILON / 2.0)
}

impl Ziggurat {
    /// Computes the edges from draws: a draw is the edge times a number from 0 to 1, here the
    /// lowest.
    fn new() -> Self {
        let edges: [f64; LAYERS] = std::array::from_fn(|layer| {
            let drawn: f64 = Exp1.sample(&mut Once(Some(layer as u64)));
            drawn / between_0_and_1(0)
        });
        let above = |layer: usize| edges.get(layer + 1).copied().unwrap_or(0.0);
        let both = |layer: usize| u128::from(edges[layer].to_bits()) | u128::from(above(layer).to_bits()) << 64;
        Self(std::array::from_fn(both))
    }
}

/// Draws these bits and then ones, so that the innermost layer, which no rectangle is inside of,
/// accepts its number.
struct Once(Option<u64>);

impl RngCore for Once {
    fn next_u32(&mut self) -> u32 {
        unreachable!("the exponential law draws 64 bits at a time")
    }

    fn next_u64(&mut self) -> u64 {
        self.0.take().unwrap_or(u64::MAX)
    }

    fn fill_bytes(&mut self, _: &mut [u8]) {
        unreachable!("the exponential law draws 64 bits at a time")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;

    fn streams<const N: usize>() -> [Rng; N] {
        std::array::from_fn(|lane| Seed(lane as u64).stream("side by side"))
    }

    fn assert_alike<const N: usize>() {
        let mut alone: [Rng; N] = streams();
        let mut together = Streams::new(streams::<N>());
        for _ in 0..1000 {
            let mut rows = [[0.0; N]; 100];
            together.fill_exponential(&mut rows);
            for row in rows {
                assert_eq!(row, std::array::from_fn(|lane| alone[lane].exponential()));
            }
            let mut rows = [[0; N]; 3];
            together.fill_bits(&mut rows);
            for row in rows {
                assert_eq!(row, std::array::from_fn(|lane| alone[lane].next_u64()));
            }
            assert_eq!(together.with_one(N - 1, Rng::unit), alone[N - 1].unit());
        }
    }

    #[test]
    fn each_stream_draws_what_it_draws_alone() {
        assert_alike::<1>();
        assert_alike::<3>();
        assert_alike::<8>();
    }

    #[test]
    fn the_edges_are_those_of_the_exponential_ziggurat() {
        let layers = Ziggurat::new().0.map(halves);
        assert!(layers.windows(2).all(|pair| pair[0].1 == pair[1].0 && pair[0].0 > pair[1].0), "{layers:?}");
        // Marsaglia and Tsang, 2000: the tail begins at 7.697.
        assert!((layers[1].0 - 7.697_117_470_131_05).abs() < 1e-12 && layers[LAYERS - 1].1 == 0.0, "{layers:?}");
    }
}
