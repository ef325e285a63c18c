//! `bimodal:500ns@0.9,5500ns@0.1`: two or more times with their shares.
//!
//! The bimodal distributions of the literature: nine in ten take half the mean and one in ten takes
//! 5.5 times the mean (ZygOS's bimodal-1), or one in a thousand takes 500.5 times the mean
//! (bimodal-2).

use std::fmt;

use nebula_nic::Span;

use super::law::{Kind, Law};
use super::moments::Moments;
use crate::alias::Alias;
use crate::error::WorkloadError;
use crate::rng::Rng;
use crate::spelling::{Spelled, Time};
use crate::streams::Streams;

pub(super) const KIND: Kind<Points> = Kind {
    word: "bimodal",
    expected: "two or more TIME@SHARE such as bimodal:500ns@0.9,5500ns@0.1",
    parse: |spelled, text| {
        let points = text.split(',').map(|point| parse_point(spelled, point)).collect::<Result<Vec<_>, _>>()?;
        if points.len() < 2 { Err(spelled.wrong()) } else { Points::new(points) }
    },
};

fn parse_point(spelled: &Spelled<'_>, text: &str) -> Result<(Span, f64), WorkloadError> {
    let (time, share) = spelled.pair(text, '@')?;
    Ok((spelled.time(time)?, spelled.number(share)?))
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Points {
    points: Box<[(Span, f64)]>,
    alias: Alias,
}

impl Points {
    fn new(points: Vec<(Span, f64)>) -> Result<Self, WorkloadError> {
        let shares: Vec<f64> = points.iter().map(|&(_, share)| share).collect();
        Ok(Self { points: points.into(), alias: Alias::new(&shares)? })
    }

    pub(super) fn is_pair(&self) -> bool {
        self.points.len() == 2
    }

    /// Draws of two points: the first random bit is the column, the others are the place in it.
    #[inline(always)]
    pub(super) fn fill_pair_side_by_side<const N: usize, const ROWS: usize>(
        &self,
        streams: &mut Streams<N>,
        rows: &mut [[f64; N]; ROWS],
    ) {
        let mut bits = [[0; N]; ROWS];
        streams.fill_bits(&mut bits);
        let bits_of = |point: usize| (self.points[point].0.as_ps() as f64).to_bits();
        let [(own, other), (second_own, second_other)] = [self.alias.column(0), self.alias.column(1)];
        // The bits in which a draw of the second column differs.
        let (own_differs, mine_differs) = (own ^ second_own, bits_of(0) ^ bits_of(1));
        let (mine, other, other_differs) = (bits_of(0), bits_of(other), bits_of(other) ^ bits_of(second_other));
        for (time, bits) in rows.as_flattened_mut().iter_mut().zip(bits.as_flattened()) {
            let (is_second, place) = ((bits >> 63).wrapping_neg(), bits << 1);
            let own = own ^ is_second & own_differs;
            let (mine, other) = (mine ^ is_second & mine_differs, other ^ is_second & other_differs);
            let is_other = u64::from(place >= own).wrapping_neg();
            *time = f64::from_bits(mine ^ is_other & (mine ^ other));
        }
    }
}

impl Law for Points {
    fn sample(&self, rng: &mut Rng) -> Span {
        self.points[self.alias.draw(rng)].0
    }

    fn moments(&self) -> Moments {
        let point = |time: Span| Moments { mean_ps: time.as_ps() as f64, variance: 0.0 };
        Moments::of_mixture(self.points.iter().map(|&(time, share)| (share, point(time))))
    }
}

impl fmt::Display for Points {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bimodal:")?;
        for (index, &(time, share)) in self.points.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{}@{share}", Time(time))?;
        }
        Ok(())
    }
}
