//! A table with a power of two of places, found by a position that counts on, without a check.

/// As many places as a ring has slots.
#[derive(Clone, Debug)]
pub struct Places<T> {
    /// A power of two, so that a masked position is an index.
    items: Box<[T]>,
    /// One less than there are.
    mask: u32,
}

impl<T: Clone + Default> Places<T> {
    /// `count` places, each with the default.
    ///
    /// # Panics
    ///
    /// When `count` is no power of two.
    #[must_use]
    pub fn new(count: u32) -> Self {
        assert!(count.is_power_of_two(), "a table has a power of two of places");
        Self { items: vec![T::default(); count as usize].into(), mask: count - 1 }
    }
}

impl<T> Places<T> {
    /// The number of places.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.mask + 1
    }

    #[inline(always)]
    const fn index(&self, position: u32) -> usize {
        (position & self.mask) as usize
    }

    /// The item at `position`, modulo the number of places.
    #[inline(always)]
    #[must_use]
    pub fn at(&self, position: u32) -> &T {
        // SAFETY: the mask is one less than the length, so the masked position is below it.
        unsafe { self.items.get_unchecked(self.index(position)) }
    }

    /// As [`at`](Self::at), to change it.
    #[inline(always)]
    pub fn at_mut(&mut self, position: u32) -> &mut T {
        let index = self.index(position);
        // SAFETY: as in `at`.
        unsafe { self.items.get_unchecked_mut(index) }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_position_names_its_place_in_every_lap() {
        let mut places = Places::new(4);
        assert_eq!(places.count(), 4);
        for position in 0..4 {
            *places.at_mut(position) = position;
        }
        for position in (0..9).chain([u32::MAX]) {
            assert_eq!(*places.at(position), position % 4);
        }
    }

    #[test]
    #[should_panic(expected = "power of two")]
    fn three_places_are_refused() {
        let _ = Places::<u8>::new(3);
    }
}
