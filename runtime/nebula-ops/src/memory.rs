//! The memory that this process may use.

use nebula_sys::limits::Limits;

/// The largest default slot: one page. Longer values take several slots.
pub const MTU_BYTES_AUTO: u32 = 4096;

/// The share of the free memory that a store may use; the rest is left to the machine.
pub const SHARE: (u64, u64) = (7, 8);

/// The memory that a store may use, in bytes.
pub fn budget_bytes() -> u64 {
    let free = [meminfo_available(), Limits::of_this_process().memory_left_bytes].into_iter().flatten().min();
    free.map_or(u64::MAX, |free| free / SHARE.1 * SHARE.0)
}

/// The memory that can be allocated without swapping, by the kernel's estimate.
pub fn meminfo_available() -> Option<u64> {
    meminfo("MemAvailable:")
}

/// A line of `/proc/meminfo`, in bytes; a number without a unit is returned as it is.
pub fn meminfo(name: &str) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let mut words = line.split_whitespace();
    let number: u64 = words.next()?.parse().ok()?;
    Some(if words.next() == Some("kB") { number * 1024 } else { number })
}
