//! Values in places that are reused.

/// Values by place; a released place is the next one's.
#[derive(Clone, Debug)]
pub(crate) struct Slab<T> {
    all: Vec<T>,
    unused: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { all: Vec::new(), unused: Vec::new() }
    }
}

impl<T: Copy> Slab<T> {
    #[expect(clippy::cast_possible_truncation, reason = "RPCs on their way are bounded by slots")]
    #[inline]
    pub(crate) fn insert(&mut self, value: T) -> u32 {
        if let Some(place) = self.unused.pop() {
            self.all[place as usize] = value;
            return place;
        }
        self.all.push(value);
        self.all.len() as u32 - 1
    }

    /// [`insert`](Self::insert) unless `most` places are in use.
    #[inline]
    pub(crate) fn insert_within(&mut self, most: u32, value: T) -> Option<u32> {
        (!self.unused.is_empty() || self.all.len() < most as usize).then(|| self.insert(value))
    }

    #[inline]
    pub(crate) fn at(&self, place: u32) -> &T {
        &self.all[place as usize]
    }

    #[inline]
    pub(crate) fn at_mut(&mut self, place: u32) -> &mut T {
        &mut self.all[place as usize]
    }

    /// Releases the place; returns its value.
    #[inline]
    pub(crate) fn remove(&mut self, place: u32) -> T {
        self.unused.push(place);
        self.all[place as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removed_value_leaves_its_place_to_the_next() {
        let mut slab = Slab::default();
        let [first, second] = ['a', 'b'].map(|value| slab.insert(value));
        assert_eq!((slab.insert_within(2, 'c'), slab.remove(first)), (None, 'a'));
        assert_eq!((slab.insert_within(2, 'c'), *slab.at(first), *slab.at(second)), (Some(first), 'c', 'b'));
    }
}
