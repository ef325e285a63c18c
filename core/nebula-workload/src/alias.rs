//! Draws one of several choices with given shares in constant time: the alias method.
//!
//! Each choice gets a column of the mean height. A larger choice fills the rest of a small choice's
//! column. A draw picks a column, then one of the two choices in it.
//
// Source: M. D. Vose, "A linear algorithm for generating random numbers with a given distribution",
// IEEE TSE 17(9), 1991.

use crate::error::WorkloadError;
use crate::rng::Rng;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Alias(Box<[Column]>);

#[derive(Copy, Clone, Debug, PartialEq)]
struct Column {
    /// The part of the column that belongs to its own choice, in units of 2⁻⁶⁴.
    own: u64,
    /// The choice that fills the rest.
    other: usize,
}

/// How far the sum of the shares may be from 1. Shares rounded to six decimals that sum to 1 pass;
/// a typing error does not.
const SUM_TOLERANCE: f64 = 1e-9;

impl Alias {
    /// Builds the table for shares from 0 to 1 that add up to 1.
    pub(crate) fn new(shares: &[f64]) -> Result<Self, WorkloadError> {
        let outside = shares.iter().find(|share| !(0.0..=1.0).contains(*share));
        if let Some(&share) = outside {
            return Err(WorkloadError::out_of_range("share", share, "use 0 to 1"));
        }
        let sum: f64 = shares.iter().sum();
        if (sum - 1.0).abs() > SUM_TOLERANCE {
            return Err(WorkloadError::out_of_range("sum of shares", sum, "use shares that add up to 1"));
        }
        Ok(Self(columns(shares, sum)))
    }

    /// The part of a column that belongs to its own choice, in units of 2⁻⁶⁴, and the choice that
    /// fills the rest.
    pub(crate) fn column(&self, index: usize) -> (u64, usize) {
        let Column { own, other } = self.0[index];
        (own, other)
    }

    /// Draws the index of a choice. One random number serves both steps: multiplied by the number
    /// of columns, its high half is the column and its low half the position within it.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the high half is an index, the low half a position")]
    pub(crate) fn draw(&self, rng: &mut Rng) -> usize {
        let wide = u128::from(rng.next_u64()) * self.0.len() as u128;
        let (index, place) = ((wide >> 64) as usize, wide as u64);
        let Column { own, other } = self.0[index];
        if place < own { index } else { other }
    }
}

fn columns(shares: &[f64], sum: f64) -> Box<[Column]> {
    let mut heights: Vec<f64> = shares.iter().map(|share| share / sum * shares.len() as f64).collect();
    let mut columns: Vec<Column> = (0..shares.len()).map(|other| Column { own: u64::MAX, other }).collect();
    let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..shares.len()).partition(|&index| heights[index] < 1.0);
    while let (Some(&donor), Some(filled)) = (large.last(), small.pop()) {
        columns[filled] = Column { own: fixed_point(heights[filled]), other: donor };
        heights[donor] -= 1.0 - heights[filled];
        if heights[donor] < 1.0 {
            small.extend(large.pop());
        }
    }
    columns.into()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a height below 1, times 2^64")]
fn fixed_point(height: f64) -> u64 {
    libm::ldexp(height, 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;

    /// The share of each choice, in columns.
    fn heights(alias: &Alias) -> Vec<f64> {
        let mut heights = vec![0.0; alias.0.len()];
        for (index, column) in alias.0.iter().enumerate() {
            let own = libm::ldexp(column.own as f64, -64);
            heights[index] += own;
            heights[column.other] += 1.0 - own;
        }
        heights
    }

    #[test]
    fn columns_give_each_choice_its_share() {
        for shares in [&[1.0][..], &[0.9, 0.1], &[0.0, 1.0], &[0.44, 0.04, 0.44, 0.04, 0.04], &[0.2; 5]] {
            let alias = Alias::new(shares).unwrap();
            for (height, share) in heights(&alias).into_iter().zip(shares) {
                assert!((height / shares.len() as f64 - share).abs() < 1e-12, "{shares:?}: {alias:?}");
            }
        }
    }

    #[test]
    fn a_choice_without_a_share_is_never_drawn() {
        let alias = Alias::new(&[0.0, 0.25, 0.0, 0.75]).unwrap();
        let mut rng = Seed(1).stream("alias");
        assert!((0..100_000).all(|_| [1, 3].contains(&alias.draw(&mut rng))));
    }
}
