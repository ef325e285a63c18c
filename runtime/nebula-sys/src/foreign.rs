//! Decisions in another language: a C function by its address, as from `numba.cfunc` and `ctypes`.

use std::fs;

/// `int64_t decide(const uint32_t *load, int64_t cores, uint64_t key, uint64_t draw)`.
type Function = unsafe extern "C" fn(*const u32, i64, u64, u64) -> i64;

/// A C function that chooses one of some cores.
#[derive(Clone, Copy, Debug)]
pub struct ForeignDecision(Function);

/// There is no code at the address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no code at the address {address:#x}: give that of a compiled function, such as numba's cfunc.address"
)]
pub struct NotCode {
    address: usize,
}

impl ForeignDecision {
    /// The function at `address`.
    ///
    /// # Errors
    ///
    /// [`NotCode`] if no executable memory of this process is there.
    ///
    /// # Safety contract
    ///
    /// The function must take these arguments, read at most `cores` numbers, allow calls from
    /// several threads, and live as long as this process. None of this can be checked: the giver of
    /// the address guarantees it, as for every pointer given to `ctypes`. Take addresses only from
    /// the user of this process, never from a peer or a file.
    pub fn at(address: usize) -> Result<Self, NotCode> {
        if !is_code(address) {
            return Err(NotCode { address });
        }
        // SAFETY: the address is in executable memory, so it is not null. That a function of this
        // type begins there is the contract above.
        Ok(Self(unsafe { std::mem::transmute::<usize, Function>(address) }))
    }

    /// The core that it chooses for cores with these loads; it may return any number.
    #[inline]
    #[must_use]
    pub fn decide(&self, load: &[u32], key: u64, draw: u64) -> i64 {
        let cores = i64::try_from(load.len()).unwrap_or(i64::MAX);
        // SAFETY: `load` has as many numbers as it is told, and outlives the call; the function is
        // as the contract of `at` says.
        unsafe { (self.0)(load.as_ptr(), cores, key, draw) }
    }
}

fn is_code(address: usize) -> bool {
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    maps.lines().any(|line| {
        let mut words = line.split_whitespace();
        let range = words.next().and_then(|range| range.split_once('-'));
        let ends = range.map(|(from, to)| (usize::from_str_radix(from, 16), usize::from_str_radix(to, 16)));
        let may_run = words.next().is_some_and(|rights| rights.contains('x'));
        may_run && matches!(ends, Some((Ok(from), Ok(to))) if (from..to).contains(&address))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" fn shortest(load: *const u32, cores: i64, key: u64, draw: u64) -> i64 {
        let count = usize::try_from(cores).unwrap_or(0);
        // SAFETY: `decide` passes a slice and its length.
        let load = unsafe { std::slice::from_raw_parts(load, count) };
        let least = (0..).zip(load).min_by_key(|(_, load)| **load).map_or(-1, |(core, _)| core);
        if key == draw { least } else { -1 }
    }

    #[test]
    fn a_function_is_called_with_the_loads_and_the_draw() {
        let function = ForeignDecision::at(shortest as *const () as usize).unwrap();
        assert_eq!(function.decide(&[3, 1, 2], 7, 7), 1);
        assert_eq!(function.decide(&[3, 1, 2], 7, 8), -1);
    }

    #[test]
    fn what_is_no_code_is_refused() {
        let data = [0_u8; 64];
        for address in [0, 1, data.as_ptr() as usize] {
            assert!(ForeignDecision::at(address).is_err(), "{address:#x}");
        }
        assert!(ForeignDecision::at(1).unwrap_err().to_string().contains("address 0x1:"));
    }
}
