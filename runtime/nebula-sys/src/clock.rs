//! The time-stamp counter as a clock.
//!
//! On a virtual machine, reading a clock through the vDSO costs 30–60 ns; reading the counter
//! directly costs about half. With an invariant TSC, all cores and processes see the same ticks, so
//! ticks may be compared across processes. Only the length of a tick is measured, once per process.
//! Without an invariant TSC, ticks are the kernel's monotonic nanoseconds.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Converts ticks to picoseconds. Cheap to copy; the length of a tick is measured on first use.
///
/// # Examples
///
/// ```
/// let clock = nebula_sys::clock::Clock::new();
/// let (a, b) = (clock.now_ps(), clock.now_ps());
/// assert!(b >= a);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Picoseconds per tick, as a fixed-point number with 32 fraction bits.
    ps_per_tick_q32: u64,
    /// The tick from which this process counts: counting from boot overflows in 213 days.
    origin_ticks: u64,
}

/// One nanosecond of the kernel's clock, in the same fixed-point format.
const KERNELS: u64 = 1000 << 32;
/// How long the counter is calibrated. 20 ms give an error of a few parts per million.
const CALIBRATION: Duration = Duration::from_millis(20);

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock {
    /// The machine's clock.
    ///
    /// # Cost
    ///
    /// The first call in a process takes 20 ms to measure the counter; later calls are free.
    #[must_use]
    pub fn new() -> Self {
        static CLOCK: OnceLock<Clock> = OnceLock::new();
        *CLOCK.get_or_init(|| {
            if is_invariant() { calibrate() } else { Clock { ps_per_tick_q32: KERNELS, origin_ticks: kernel_ns() } }
        })
    }

    /// Ticks since a fixed moment, which is the same for all processes until the machine reboots.
    ///
    /// # Cost
    ///
    /// One `rdtsc`: 10–30 ns on a virtual machine.
    #[inline(always)]
    #[must_use]
    pub fn ticks(self) -> u64 {
        if self.ps_per_tick_q32 == KERNELS { kernel_ns() } else { counter() }
    }

    /// Picoseconds since this process first asked for its clock.
    #[inline(always)]
    #[must_use]
    pub fn now_ps(self) -> u64 {
        self.at_ps(self.ticks())
    }

    /// Converts `ticks`, read by any process, to the scale of [`now_ps`](Self::now_ps); 0 for
    /// moments before this process's start.
    #[inline(always)]
    #[must_use]
    pub fn at_ps(self, ticks: u64) -> u64 {
        self.ps(ticks.saturating_sub(self.origin_ticks))
    }

    /// The length of `ticks` ticks in picoseconds, saturating at 213 days.
    #[inline(always)]
    #[must_use]
    pub fn ps(self, ticks: u64) -> u64 {
        u64::try_from((u128::from(ticks) * u128::from(self.ps_per_tick_q32)) >> 32).unwrap_or(u64::MAX)
    }

    /// How many ticks last `ps` picoseconds.
    #[must_use]
    pub fn ticks_of(self, ps: u64) -> u64 {
        u64::try_from((u128::from(ps) << 32) / u128::from(self.ps_per_tick_q32.max(1))).unwrap_or(u64::MAX)
    }

    /// Ticks per second, in Hz.
    #[must_use]
    pub fn hz(self) -> f64 {
        1e12 * 2f64.powi(32) / self.ps_per_tick_q32 as f64
    }

    /// Whether ticks come from the processor's counter rather than the kernel's clock.
    #[must_use]
    pub fn is_counter(self) -> bool {
        self.ps_per_tick_q32 != KERNELS
    }
}

fn calibrate() -> Clock {
    let start = Instant::now();
    let (before, from) = read_closely(start);
    while start.elapsed() < CALIBRATION {
        std::hint::spin_loop();
    }
    let (after, to) = read_closely(start);
    let ps = u128::from(after.saturating_sub(before)) * 1000;
    let ticks = u128::from(to.saturating_sub(from)).max(1);
    Clock { ps_per_tick_q32: u64::try_from((ps << 32) / ticks).unwrap_or(KERNELS), origin_ticks: from }
}

/// The nanoseconds since `start` and the counter, read close together: of several readings, the one
/// with the smallest advance of the counter, because the machine may have paused during the others.
fn read_closely(start: Instant) -> (u64, u64) {
    (0..16).map(|_| read_pair(start)).min_by_key(|pair| pair.0).map_or((1, 1), |pair| (pair.1, pair.2))
}

fn read_pair(start: Instant) -> (u64, u64, u64) {
    let before = counter();
    let elapsed = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let after = counter();
    (after - before, elapsed, before + (after - before) / 2)
}

fn kernel_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
fn counter() -> u64 {
    // SAFETY: `rdtsc` reads a counter and has no other effect; user mode may run it unless the
    // kernel forbids it, which Linux does only on request (PR_TSC_SIGSEGV).
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
fn counter() -> u64 {
    kernel_ns()
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
fn is_invariant() -> bool {
    use std::arch::x86_64::__cpuid;
    let is_listed = __cpuid(0x8000_0000).eax >= 0x8000_0007;
    is_listed && __cpuid(0x8000_0007).edx & (1 << 8) != 0
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
fn is_invariant() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bracketed(clock: Clock, start: Instant) -> [f64; 3] {
        let before = start.elapsed().as_nanos() as f64;
        let ours = clock.now_ps() as f64 / 1000.0;
        [before, ours, start.elapsed().as_nanos() as f64]
    }

    /// Of several readings, the closest one: the machine may have paused during the others.
    fn bracketed_closely(clock: Clock, start: Instant) -> [f64; 3] {
        let readings = (0..64).map(|_| bracketed(clock, start));
        readings.min_by(|a, b| (a[2] - a[0]).total_cmp(&(b[2] - b[0]))).unwrap()
    }

    #[test]
    fn the_clock_agrees_with_the_kernels_within_a_thousandth() {
        let (clock, start) = (Clock::new(), Instant::now());
        let [from_before, from, from_after] = bracketed_closely(clock, start);
        while start.elapsed() < Duration::from_millis(50) {
            std::hint::spin_loop();
        }
        let [to_before, to, to_after] = bracketed_closely(clock, start);
        let (least, most) = (to_before - from_after, to_after - from_before);
        // Whatever the machine did between the readings, our time lies between the kernel's.
        assert!((least * 0.999..=most * 1.001).contains(&(to - from)), "{} ns in {least}..{most} ns", to - from);
    }

    #[test]
    fn moments_count_from_the_start_of_the_process() {
        let clock = Clock::new();
        assert_eq!(clock.at_ps(0), 0);
        let (before, now) = (clock.now_ps(), clock.at_ps(clock.ticks()));
        assert!(now >= before && now < 3_600_000_000_000_000, "{now} ps since the test began");
    }

    #[test]
    fn ticks_and_picoseconds_convert_both_ways() {
        let clock = Clock::new();
        let ticks = clock.ticks_of(1_000_000_000);
        assert!(clock.ps(ticks).abs_diff(1_000_000_000) < 2000);
        assert!((clock.hz() / 1e12 * clock.ps(1_000_000) as f64 - 1_000_000.0).abs() < 1.0);
    }
}
