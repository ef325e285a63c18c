//! Lists the cores of the machine and pins threads to them.
//!
//! The kernel's cores are hardware threads: two may share one physical core and its caches.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The cores that this thread may run on, as the kernel numbers them, ascending; never empty.
#[must_use]
pub fn allowed_cores() -> Vec<usize> {
    let set = sched_getaffinity(None).unwrap_or_default();
    let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&core| set.is_set(core)).collect();
    if cores.is_empty() { vec![0] } else { cores }
}

/// Pins the calling thread to `core`.
///
/// # Errors
///
/// The kernel's error, when the core does not exist or this thread may not use it.
pub fn pin_to(core: usize) -> std::io::Result<()> {
    if core >= CpuSet::MAX_CPU {
        return Err(std::io::Error::other(format!("core {core}: the highest number is {}", CpuSet::MAX_CPU - 1)));
    }
    let mut set = CpuSet::new();
    set.set(core);
    Ok(sched_setaffinity(None, &set)?)
}

/// The cores of a list in the kernel's notation, such as `0-2,8`. Leaves out what it cannot read.
#[must_use]
pub fn cores_of(list: &str) -> Vec<usize> {
    let part = |part: &str| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        Some(from.parse::<usize>().ok()?..=to.parse::<usize>().ok()?)
    };
    list.trim().split(',').filter_map(part).flatten().collect()
}

/// The hardware threads of the physical core that has `core`, itself included; `core` alone where
/// the kernel does not say.
#[must_use]
pub fn siblings_of(core: usize) -> Vec<usize> {
    let path = format!("/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list");
    let listed = cores_of(&std::fs::read_to_string(path).unwrap_or_default());
    if listed.contains(&core) { listed } else { vec![core] }
}

/// The first of `cores` on each physical core, by `siblings_of`.
#[must_use]
pub fn one_thread_each(cores: &[usize], siblings_of: impl Fn(usize) -> Vec<usize>) -> Vec<usize> {
    let mut taken = Vec::new();
    let is_first = |core: &usize| {
        let is_first = !taken.contains(core);
        taken.extend(siblings_of(*core));
        is_first
    };
    cores.iter().copied().filter(is_first).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_cores_is_read() {
        assert_eq!(cores_of("0-2,8\n"), [0, 1, 2, 8]);
        assert_eq!((cores_of("5"), cores_of("")), (vec![5], vec![]));
    }

    #[test]
    fn of_each_physical_core_one_thread_is_left() {
        let pairs = |core: usize| vec![core % 4, core % 4 + 4];
        assert_eq!(one_thread_each(&[1, 2, 5, 6, 7], pairs), [1, 2, 7]);
        let allowed = allowed_cores();
        assert!(siblings_of(allowed[0]).contains(&allowed[0]));
        assert!(!one_thread_each(&allowed, siblings_of).is_empty());
    }

    #[test]
    fn a_pinned_thread_is_allowed_on_that_core_only() {
        let core = *allowed_cores().last().unwrap();
        let allowed = std::thread::spawn(move || pin_to(core).map(|()| allowed_cores())).join().unwrap();
        assert_eq!(allowed.unwrap(), [core]);
    }

    #[test]
    fn a_core_that_is_not_there_is_an_error() {
        assert!(pin_to(usize::MAX).is_err());
    }
}
