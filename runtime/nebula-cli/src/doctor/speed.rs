//! Checks of a core's speed after a rest, and of its distance to memory: frequency scaling, huge
//! pages, NUMA. Each is measured by its effect.

use std::fs::read_to_string;
use std::hint::black_box;
use std::time::Duration;

use nebula_nic::Span;
use nebula_sys::affinity::{allowed_cores, cores_of, pin_to};
use nebula_sys::clock::Clock;
use nebula_sys::mem::{Pages, WordRegion};
use nebula_sys::sync::Ordering;

use super::finding::Finding;
use nebula_ui::output::units;

pub(super) fn findings() -> Vec<Finding> {
    vec![frequency(), page_size(), numa()]
}

/// The longest time after a rest, as a multiple of the time without.
const SLOWER_MAX: f64 = 1.15;
/// Multiplications of one measurement: some hundred microseconds.
const MULTIPLICATIONS: u64 = 100_000;
const REST: Duration = Duration::from_millis(30);

/// A chain of multiplications takes the same cycles at any frequency: the ratio of two times is the
/// inverse ratio of two frequencies.
fn multiply(clock: Clock) -> u64 {
    let (from, mut product) = (clock.ticks(), black_box(3_u64));
    for _ in 0..MULTIPLICATIONS {
        product = black_box(product.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    }
    black_box(product);
    clock.ps(clock.ticks() - from)
}

fn frequency() -> Finding {
    let clock = Clock::new();
    // The minimum: without interruptions.
    let warm = (0..40).map(|_| multiply(clock)).min().unwrap_or(1);
    let cold = (0..5).map(|_| {
        std::thread::sleep(REST);
        multiply(clock)
    });
    let slower = cold.min().unwrap_or(warm) as f64 / warm.max(1) as f64;
    let governor = read_to_string("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").unwrap_or_default();
    let governor = if governor.trim().is_empty() { "none here" } else { governor.trim() };
    let measured = format!("governor: {governor}; after a rest of 30 ms the same work takes {slower:.2} times as long");
    Finding::new("frequency", measured).value("governor", governor).value("slowdown_after_rest", slower).fix_unless(
        slower <= SLOWER_MAX && ["performance", "none here"].contains(&governor),
        "a core that was idle is slow at first: keep its frequency up",
        "cpupower frequency-set -g performance   (or: echo performance | tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor)".to_owned(),
    )
}

/// Beyond the caches of most cores.
const WALKED_BYTES: usize = 64 << 20;
const STEPS: u32 = 200_000;

/// Links all lines of a region in one circle, in an order that no prefetcher predicts.
fn circle(pages: Pages) -> Option<WordRegion> {
    let region = WordRegion::new(WALKED_BYTES / 8, pages).ok()?;
    let lines = u64::try_from(WALKED_BYTES / 64).ok()?;
    // A generator of full period: odd increment, and a multiplier that is 1 modulo 4.
    let next = |line: u64| line.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F) % lines;
    let words = region.words();
    (0..lines).for_each(|line| {
        let at = usize::try_from(line * 8).unwrap_or(0);
        words[at].store(next(line) * 8, Ordering::Relaxed);
    });
    Some(region)
}

/// The time of an access that depends on the previous one.
fn walk(region: &WordRegion, clock: Clock) -> Span {
    let words = region.words();
    let round = |_| {
        let (from, mut at) = (clock.ticks(), 0_u64);
        for _ in 0..STEPS {
            at = words[usize::try_from(at).unwrap_or(0)].load(Ordering::Relaxed);
        }
        black_box(at);
        clock.ps(clock.ticks() - from) / u64::from(STEPS)
    };
    Span::from_ps((0..3).map(round).min().unwrap_or(0))
}

/// A larger ratio of access times is worth advice.
const SMALLER_MAX: f64 = 1.1;

fn page_size() -> Finding {
    let clock = Clock::new();
    let (small, huge) = (circle(Pages::Base), circle(Pages::Huge2M));
    let (Some(small), Some(huge)) = (small, huge) else {
        return Finding::new("page size", "not measured: no memory of 128 MiB").fix_unless(
            false,
            "free some memory",
            "free -h".to_owned(),
        );
    };
    let (on_small, on_huge, granted) = (walk(&small, clock), walk(&huge, clock), huge.pages());
    let ratio = on_small.as_ns_f64() / on_huge.as_ns_f64().max(0.1);
    let measured = format!(
        "a random access takes {} on 4 KiB pages and {} on what a store gets ({granted}), {ratio:.2} times as long",
        units::span(on_small),
        units::span(on_huge),
    );
    Finding::new("page size", measured)
        .value("access_ns_small", on_small.as_ns_f64())
        .value("access_ns_store", on_huge.as_ns_f64())
        .fix_unless(
            granted != Pages::Base || ratio > SMALLER_MAX,
            "a store gets small pages: have the kernel grant huge ones",
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled; sysctl -w vm.nr_hugepages=1024".to_owned(),
        )
}

fn nodes() -> Vec<(usize, Vec<usize>)> {
    let allowed = allowed_cores();
    let of = |node: usize| {
        let cores = read_to_string(format!("/sys/devices/system/node/node{node}/cpulist")).ok()?;
        let cores = cores_of(&cores).into_iter().filter(|core| allowed.contains(core)).collect();
        Some((node, cores))
    };
    (0..64).filter_map(of).filter(|(_, cores): &(usize, Vec<usize>)| !cores.is_empty()).collect()
}

fn numa() -> Finding {
    let nodes = nodes();
    let [(_, near), .., (far_node, far)] = nodes.as_slice() else {
        return Finding::new("NUMA", "one node: all memory is as near").value("nodes", nodes.len());
    };
    let times = remote(near[0], far[0]);
    let (local, remote) = times.unwrap_or((Span::ZERO, Span::ZERO));
    let measured = format!(
        "{} nodes; a random access takes {} on the own node and {} from node {far_node}",
        nodes.len(),
        units::span(local),
        units::span(remote),
    );
    let near_list = near.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
    Finding::new("NUMA", measured)
        .value("nodes", nodes.len())
        .value("access_ns_local", local.as_ns_f64())
        .value("access_ns_remote", remote.as_ns_f64())
        .fix_unless(
            false,
            "this process may run on several nodes: keep a server and its memory on one, that of its network card",
            format!("numactl --cpunodebind=0 --membind=0 nebula serve kv …   (or --pin {near_list})"),
        )
}

/// The time of an access from the core near the memory, and from the other.
fn remote(near: usize, far: usize) -> Option<(Span, Span)> {
    let on = |core: usize, region: Option<WordRegion>| {
        let measured = std::thread::spawn(move || {
            pin_to(core).ok()?;
            // Memory is near the core that touches it first.
            let region = region.or_else(|| circle(Pages::Huge2M))?;
            let time = walk(&region, Clock::new());
            Some((time, region))
        });
        measured.join().ok().flatten()
    };
    let (local, region) = on(near, None)?;
    let (remote, _) = on(far, Some(region))?;
    Some((local, remote))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_goes_through_every_line_once() {
        let region = circle(Pages::Base).unwrap();
        let (words, mut at, mut steps) = (region.words(), 0_u64, 0);
        loop {
            at = words[usize::try_from(at).unwrap()].load(Ordering::Relaxed);
            steps += 1;
            if at == 0 {
                break;
            }
        }
        assert_eq!(steps, WALKED_BYTES / 64);
    }
}
