//! `bimodal:500ns@0.9,5500ns@0.1`: two or more times with their shares.
//!
//! The bimodal distributions of the literature: nine in ten take half the mean and one in ten takes 5.5 times the mean
//! (ZygOS's bimodal-1), or one in a thousand takes 500.5 times the mean (bimodal-2).

use std::fmt;

use nebula_nic::Span;

use super::moments::Moments;
use super::part::{Kind, Law, Part};
use crate::alias::Alias;
use crate::spelling::{Spelled, Time};
use crate::{Rng, WorkloadError};

pub(super) const KIND: Kind = Kind {
    word: "bimodal",
    expected: "two or more TIME@SHARE such as bimodal:500ns@0.9,5500ns@0.1",
    parse: |spelled, text| {
        let points = text.split(',').map(|point| parse_point(spelled, point)).collect::<Result<Vec<_>, _>>()?;
        if points.len() < 2 { Err(spelled.wrong()) } else { Ok(Part::Points(Points::new(points)?)) }
    },
};

fn parse_point(spelled: &Spelled<'_>, text: &str) -> Result<(Span, f64), WorkloadError> {
    let (time, share) = spelled.pair(text, '@')?;
    Ok((spelled.time(time)?, spelled.number(share)?))
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Points {
    /// Times and their shares.
    points: Box<[(Span, f64)]>,
    alias: Alias,
}

impl Points {
    fn new(points: Vec<(Span, f64)>) -> Result<Self, WorkloadError> {
        let shares: Vec<f64> = points.iter().map(|&(_, share)| share).collect();
        Ok(Self { points: points.into(), alias: Alias::new(&shares)? })
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
