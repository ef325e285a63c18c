//! Closed loops with a fixed number of RPCs outstanding, and their results.

use nebula_sys::clock::Clock;

pub trait Pipe {
    /// Sends RPC number `n`; `false` when there is no room.
    fn send(&mut self, n: u64) -> bool;
    /// Receives replies that have arrived; returns how many.
    fn take(&mut self) -> u64;
}

const ROUND_PS: u64 = 150_000_000_000;

/// Millions of RPCs per second, with `outstanding` in flight for one round.
pub fn throughput(pipe: &mut impl Pipe, outstanding: u64) -> f64 {
    let clock = Clock::new();
    let (mut sent, mut done) = (0, 0);
    let mut step = |sent: &mut u64, done: &mut u64| {
        while *sent - *done < outstanding && pipe.send(*sent) {
            *sent += 1;
        }
        *done += pipe.take();
    };
    let mut run = |for_ps: u64| {
        let (start, from) = (clock.now_ps(), done);
        loop {
            for _ in 0..256 {
                step(&mut sent, &mut done);
            }
            let elapsed = clock.now_ps() - start;
            if elapsed > for_ps {
                return (done - from) as f64 / (elapsed as f64 / 1e6);
            }
        }
    };
    run(ROUND_PS / 10);
    let rate = run(ROUND_PS);
    while sent > done {
        done += pipe.take();
    }
    rate
}

/// Round-trip times with one RPC at a time, in nanoseconds: the median and the 99th percentile of
/// one round.
pub fn round_trip(pipe: &mut impl Pipe) -> (f64, f64) {
    let clock = Clock::new();
    let mut times = Vec::with_capacity(1 << 20);
    let start = clock.now_ps();
    let mut n = 0;
    while clock.now_ps() - start < ROUND_PS {
        let sent = clock.ticks();
        while !pipe.send(n) {}
        while pipe.take() == 0 {}
        times.push(clock.ticks() - sent);
        n += 1;
    }
    times.sort_unstable();
    let at = |share: f64| clock.ps(times[((times.len() - 1) as f64 * share) as usize]) as f64 / 1000.0;
    (at(0.5), at(0.99))
}

pub fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
