//! Code for the widest vectors of the machine: the compiler makes it, and the machine is asked which it has.

/// Work in whose loops the compiler finds vectors.
pub trait Work {
    /// What comes of it.
    type Output;

    /// Does it. This and all that it calls must be `#[inline(always)]`: what is not becomes a call of code for any machine.
    fn run(self) -> Self::Output;
}

/// Runs `work`, compiled for the widest vectors that this machine has: AVX-512, AVX2 or what every machine of its kind has.
///
/// The results are the same bits in each case: the compiler neither fuses nor reorders operations on floating-point numbers.
///
/// # Cost
///
/// A few loads and branches; `work` is compiled once for each width.
///
/// # Examples
///
/// ```
/// use nebula_sys::wide::{Work, run_widest};
///
/// struct Double<'a>(&'a mut [f64]);
///
/// impl Work for Double<'_> {
///     type Output = ();
///
///     #[inline(always)]
///     fn run(self) {
///         self.0.iter_mut().for_each(|number| *number *= 2.0);
///     }
/// }
///
/// let mut numbers = [1.0, 2.5, 4.0];
/// run_widest(Double(&mut numbers));
/// assert_eq!(numbers, [2.0, 5.0, 8.0]);
/// ```
#[inline]
pub fn run_widest<W: Work>(work: W) -> W::Output {
    #[cfg(all(target_arch = "x86_64", not(any(miri, loom))))]
    {
        x86::run_widest(work)
    }
    #[cfg(not(all(target_arch = "x86_64", not(any(miri, loom)))))]
    {
        work.run()
    }
}

/// Runs `work` as [`run_widest`] does, in vectors of 256 bits at most: AVX2 or what every machine of its kind has.
///
/// Where a loop over small integers ends in one number, shorter vectors take less time: what is compared stays in the vector itself.
#[inline]
pub fn run_in_256_bits<W: Work>(work: W) -> W::Output {
    #[cfg(all(target_arch = "x86_64", not(any(miri, loom))))]
    {
        x86::run_in_256_bits(work)
    }
    #[cfg(not(all(target_arch = "x86_64", not(any(miri, loom)))))]
    {
        work.run()
    }
}

#[cfg(all(target_arch = "x86_64", not(any(miri, loom))))]
mod x86 {
    use super::Work;
    use std::arch::is_x86_feature_detected;

    #[inline]
    pub(super) fn run_widest<W: Work>(work: W) -> W::Output {
        let has_avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi2");
        let has_avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        if has_avx2 && has_avx512 {
            // SAFETY: the machine has what the function is compiled for.
            unsafe { with_avx512(work) }
        } else if has_avx2 {
            // SAFETY: as above.
            unsafe { with_avx2(work) }
        } else {
            work.run()
        }
    }

    #[inline]
    pub(super) fn run_in_256_bits<W: Work>(work: W) -> W::Output {
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi2") {
            // SAFETY: the machine has what the function is compiled for.
            unsafe { with_avx2(work) }
        } else {
            work.run()
        }
    }

    #[target_feature(enable = "avx2,bmi2,avx512f,avx512bw,avx512dq,avx512vl")]
    fn with_avx512<W: Work>(work: W) -> W::Output {
        work.run()
    }

    #[target_feature(enable = "avx2,bmi2")]
    fn with_avx2<W: Work>(work: W) -> W::Output {
        work.run()
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        /// A sum in which any fused or reordered operation would change the last bits.
        #[derive(Clone, Copy)]
        struct Sum<'a>(&'a [f64]);

        impl Work for Sum<'_> {
            type Output = u64;

            #[inline(always)]
            fn run(self) -> u64 {
                self.0.iter().fold(0.0, |sum, number| sum * 0.999 + number.sqrt()).to_bits()
            }
        }

        #[test]
        fn all_widths_give_the_same_bits() {
            let numbers: Vec<f64> = (1..1000).map(f64::from).collect();
            let sum = Sum(&numbers);
            assert_eq!((run_widest(sum), run_in_256_bits(sum)), (sum.run(), sum.run()));
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi2") {
                // SAFETY: the machine has both.
                assert_eq!(unsafe { with_avx2(sum) }, sum.run());
            }
        }
    }
}
