//! Quotient and remainder by a fixed divisor: shift and mask for a power of two.

#[derive(Debug, Clone, Copy)]
pub(crate) struct Modulus {
    divisor: u32,
    /// For a power of two: `divisor - 1`, and its number of bits.
    mask: u32,
    shift: u32,
    is_power_of_two: bool,
}

impl Modulus {
    pub(crate) const fn new(divisor: u32) -> Self {
        let is_power_of_two = divisor.is_power_of_two();
        Self { divisor, mask: divisor.wrapping_sub(1), shift: divisor.trailing_zeros(), is_power_of_two }
    }

    #[inline(always)]
    pub(crate) const fn as_power_of_two(self) -> Option<(u32, u32)> {
        if self.is_power_of_two { Some((self.shift, self.mask)) } else { None }
    }

    #[inline]
    pub(crate) const fn quotient(self, value: u32) -> u32 {
        if self.is_power_of_two { value >> self.shift } else { value / self.divisor }
    }

    #[inline]
    pub(crate) const fn remainder(self, value: u32) -> u32 {
        if self.is_power_of_two { value & self.mask } else { value % self.divisor }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_divides_as_the_operators_do() {
        for divisor in [1, 2, 3, 6, 16, 48, 1 << 31, u32::MAX] {
            let modulus = Modulus::new(divisor);
            for value in [0, 1, 5, 47, 48, 1 << 20, u32::MAX - 1, u32::MAX] {
                assert_eq!((modulus.quotient(value), modulus.remainder(value)), (value / divisor, value % divisor));
            }
        }
    }
}
