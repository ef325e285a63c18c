//! Lists the cores of the machine and pins threads to them.

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

#[cfg(test)]
mod tests {
    use super::*;

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
