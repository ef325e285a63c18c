//! Counts by cell of a [`Distribution`](crate::tally::Distribution), of those that are not zero.

/// For each cell with any values, how many are in it or below.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cells(Vec<(u32, u64)>);

impl Cells {
    /// Adds the count of a cell above all cells so far.
    pub(crate) fn push(&mut self, cell: u32, count: u64) {
        let below = self.count();
        self.0.push((cell, below + count));
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.last().map_or(0, |&(_, count)| count)
    }

    /// How many values are in cells up to this one.
    pub(crate) fn within(&self, cell: u32) -> u64 {
        let place = self.0.partition_point(|&(at, _)| at <= cell);
        place.checked_sub(1).map_or(0, |place| self.0[place].1)
    }

    pub(crate) fn highest(&self) -> u32 {
        self.0.last().map_or(0, |&(cell, _)| cell)
    }

    pub(crate) fn with(&self, other: &Self) -> Self {
        let mut places: Vec<u32> = self.0.iter().chain(&other.0).map(|&(cell, _)| cell).collect();
        places.sort_unstable();
        places.dedup();
        Self(places.into_iter().map(|cell| (cell, self.within(cell) + other.within(cell))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_the_cells_up_to_one() {
        let (mut one, mut other) = (Cells::default(), Cells::default());
        [(3, 2), (7, 1)].into_iter().for_each(|(cell, count)| one.push(cell, count));
        [(1, 1), (7, 4), (9, 1)].into_iter().for_each(|(cell, count)| other.push(cell, count));
        let both = one.with(&other);
        assert_eq!([0, 1, 3, 6, 7, 8, 9, 99].map(|cell| both.within(cell)), [0, 1, 3, 3, 8, 8, 9, 9]);
        assert_eq!((both.count(), both.highest(), one.within(2), Cells::default().within(5)), (9, 9, 0, 0));
    }
}
