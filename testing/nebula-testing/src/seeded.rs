//! Property tests from fixed seeds: the same draws in every run, on every machine, however busy it
//! is.
//!
//! [`arbtest`] runs a property with random seeds until a time is over: a run that finds something
//! cannot be told from one that was lucky, and a busy machine tests less. [`seeded`] runs it a
//! fixed number of times with fixed seeds instead. A failure prints its seed as arbtest does.
//!
//! To explore, `cargo xtask explore` sets `NEBULA_EXPLORE_MS`: every property is then run with new
//! seeds for that many milliseconds.

use arbtest::arbitrary::{self, Unstructured};

/// Set to a number of milliseconds, properties run with new seeds for that long.
const EXPLORE: &str = "NEBULA_EXPLORE_MS";
/// Runs of a property, unless it asks for others.
const RUNS: u32 = 96;
/// Runs of a property in Miri, which takes minutes to draw what is drawn in a millisecond
/// otherwise; and the random bytes of the longest.
const MIRI_RUNS: u32 = 12;
const MIRI_SIZE_MAX: u32 = 1024;

/// Runs `property` 96 times, unless told otherwise, when the value is dropped, with random bytes of
/// lengths from `size_min` to `size_max`.
///
/// In Miri it is run 12 times at most, with 1024 bytes at most: there it looks for undefined
/// behavior, and not for wrong answers.
///
/// # Panics
///
/// As the property does, after a line with the seed; or when every run ran out of random bytes.
///
/// # Examples
///
/// ```
/// nebula_testing::seeded(|draw| {
///     let (a, b): (u32, u32) = (draw.arbitrary()?, draw.arbitrary()?);
///     assert_eq!(a ^ b, b ^ a);
///     Ok(())
/// });
/// ```
pub fn seeded<P>(property: P) -> Seeded<P>
where
    P: FnMut(&mut Unstructured<'_>) -> arbitrary::Result<()>,
{
    Seeded { property, size_min: 32, size_max: 65_536, runs: RUNS }
}

/// A property about to be run.
pub struct Seeded<P>
where
    P: FnMut(&mut Unstructured<'_>) -> arbitrary::Result<()>,
{
    property: P,
    size_min: u32,
    size_max: u32,
    runs: u32,
}

impl<P> Seeded<P>
where
    P: FnMut(&mut Unstructured<'_>) -> arbitrary::Result<()>,
{
    /// Random bytes of the shortest run.
    pub fn size_min(mut self, bytes: u32) -> Self {
        self.size_min = bytes;
        self
    }

    /// Random bytes of the longest run.
    pub fn size_max(mut self, bytes: u32) -> Self {
        self.size_max = bytes;
        self
    }

    /// How often the property is run.
    pub fn runs(mut self, runs: u32) -> Self {
        self.runs = runs;
        self
    }

    fn run(&mut self) {
        match std::env::var(EXPLORE).ok().and_then(|ms| ms.parse().ok()) {
            Some(ms) => {
                arbtest::arbtest(&mut self.property)
                    .size_min(self.size_min)
                    .size_max(self.size_max)
                    .budget_ms(ms)
                    .run();
            }
            None => self.run_fixed(),
        }
    }

    fn run_fixed(&mut self) {
        if cfg!(miri) {
            self.runs = self.runs.min(MIRI_RUNS);
            self.size_max = self.size_max.min(MIRI_SIZE_MAX).max(self.size_min);
        }
        let mut completed = 0;
        for seed in seeds(self.runs, self.size_min, self.size_max) {
            let run = |draw: &mut Unstructured<'_>| {
                // A property that runs out of random bytes gives up; arbtest would take that for a
                // failure of a given seed.
                completed += u32::from((self.property)(draw).is_ok());
                Ok(())
            };
            arbtest::arbtest(run).seed(seed).run();
        }
        assert!(completed > 0, "each of {} runs ran out of random bytes", self.runs);
    }
}

impl<P> Drop for Seeded<P>
where
    P: FnMut(&mut Unstructured<'_>) -> arbitrary::Result<()>,
{
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.run();
        }
    }
}

/// `runs` seeds of arbtest's form: the number of bytes in the lower half, which grows by a constant
/// factor from run to run, and what they are drawn from in the upper half.
fn seeds(runs: u32, size_min: u32, size_max: u32) -> impl Iterator<Item = u64> {
    let ratio = f64::from(size_max) / f64::from(size_min);
    (0..runs).map(move |run| {
        let share = f64::from(run) / f64::from(runs.max(2) - 1);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between the two sizes")]
        let size = (f64::from(size_min) * ratio.powf(share)).round() as u64;
        // Neighboring numbers would be poor seeds of an xorshift.
        (u64::from(run + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) & 0xFFFF_FFFF_0000_0000) | size
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_property_sees_the_same_bytes_each_time() {
        let draw = || {
            let mut drawn = Vec::new();
            let keep = |bytes: &mut Unstructured<'_>| {
                drawn.push(bytes.bytes(8)?.to_vec());
                Ok(())
            };
            drop(seeded(keep).runs(20));
            drawn
        };
        let drawn = draw();
        assert_eq!(drawn.len(), 20);
        assert_eq!(drawn, draw());
        assert_eq!(drawn.iter().collect::<std::collections::BTreeSet<_>>().len(), 20, "each run has its own");
    }

    #[test]
    fn sizes_go_from_the_least_to_the_greatest() {
        let sizes: Vec<u64> = seeds(10, 64, 4096).map(|seed| seed & 0xFFFF_FFFF).collect();
        assert_eq!((sizes[0], sizes[9]), (64, 4096));
        assert!(sizes.is_sorted());
    }

    #[test]
    #[should_panic(expected = "ran out of random bytes")]
    fn a_property_that_never_completes_fails() {
        drop(seeded(|draw| draw.bytes(1_000_000).map(drop)));
    }

    #[test]
    #[should_panic(expected = "found")]
    fn a_property_that_fails_for_some_bytes_is_found() {
        drop(
            seeded(|draw| {
                assert!(draw.arbitrary::<u8>()? != 7 || draw.arbitrary::<u8>()? < 128, "found");
                Ok(())
            })
            .runs(20_000)
            .size_max(64),
        );
    }
}
