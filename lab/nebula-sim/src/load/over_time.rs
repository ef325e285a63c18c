//! Loads that change over time: steps, or the wave of a day.

use crate::error::{LOAD_MAX, SimError};
use nebula_nic::{Span, Timestamp};
use std::f64::consts::TAU;
use std::fmt;
use std::str::FromStr;

/// A load that repeats: `0.5/2ms,1.5/100us` for steps of these loads and lengths,
/// `wave:0.2..0.9/10ms` for a wave between two loads.
///
/// Arrivals of any kind keep their pattern and come faster or slower: Poisson arrivals are a
/// Poisson process whose rate is the load's.
///
/// # Examples
///
/// ```
/// use nebula_sim::Profile;
///
/// let burst: Profile = "0.5/300us,1.5/100us".parse()?;
/// assert_eq!((burst.mean(), burst.period()), (0.75, nebula_nic::Span::from_us(400)));
/// # Ok::<(), nebula_sim::SimError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    pieces: Vec<Piece>,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Piece {
    pub(crate) load: f64,
    pub(crate) length: Span,
}

const PIECES: u32 = 64;

impl Profile {
    /// The mean load.
    #[must_use]
    pub fn mean(&self) -> f64 {
        let weighted = |piece: &Piece| piece.load * piece.length.as_ps() as f64;
        self.pieces.iter().map(weighted).sum::<f64>() / self.period().as_ps() as f64
    }

    /// The time after which it repeats.
    #[must_use]
    pub fn period(&self) -> Span {
        self.pieces.iter().map(|piece| piece.length).sum()
    }

    /// The load at a time.
    #[must_use]
    pub fn at(&self, time: Timestamp) -> f64 {
        let mut left = time.as_ps() % self.period().as_ps();
        for piece in &self.pieces {
            if left < piece.length.as_ps() {
                return piece.load;
            }
            left -= piece.length.as_ps();
        }
        0.0
    }

    /// The end of the first of the highest pieces in a period; recovery is counted from it.
    #[must_use]
    pub fn peak_end(&self) -> Span {
        let (mut end, mut highest, mut peak) = (Span::ZERO, f64::NEG_INFINITY, Span::ZERO);
        for piece in &self.pieces {
            end += piece.length;
            if piece.load > highest {
                (highest, peak) = (piece.load, end);
            }
        }
        peak
    }

    fn steps(text: &str) -> Option<Vec<Piece>> {
        text.split(',')
            .map(|step| {
                let (load, length) = step.split_once('/')?;
                Some(Piece { load: load.trim().parse().ok()?, length: length.trim().parse().ok()? })
            })
            .collect()
    }

    fn wave(text: &str) -> Option<Vec<Piece>> {
        let (loads, period) = text.split_once('/')?;
        let (low, high) = loads.split_once("..")?;
        let (low, high): (f64, f64) = (low.trim().parse().ok()?, high.trim().parse().ok()?);
        let period: Span = period.trim().parse().ok()?;
        let begin = |piece: u32| period.as_ps() * u64::from(piece) / u64::from(PIECES);
        let piece = |number: u32| {
            // Lowest at the start of the period; the load in the middle of the piece.
            let angle = TAU * (f64::from(number) + 0.5) / f64::from(PIECES);
            let load = low + (high - low) * (1.0 - libm::cos(angle)) / 2.0;
            Piece { load, length: Span::from_ps(begin(number + 1) - begin(number)) }
        };
        (low <= high).then(|| (0..PIECES).map(piece).collect())
    }

    fn is_possible(pieces: &[Piece]) -> bool {
        let fits = |piece: &Piece| (0.0..=LOAD_MAX).contains(&piece.load) && piece.length > Span::ZERO;
        pieces.iter().all(fits) && pieces.iter().any(|piece| piece.load > 0.0)
    }
}

impl FromStr for Profile {
    type Err = SimError;

    fn from_str(text: &str) -> Result<Self, SimError> {
        let pieces = match text.strip_prefix("wave:") {
            Some(wave) => Self::wave(wave),
            None => Self::steps(text),
        };
        let pieces = pieces.filter(|pieces| Self::is_possible(pieces));
        let pieces = pieces.ok_or_else(|| SimError::ProfileText { text: text.to_owned() })?;
        Ok(Self { pieces, text: text.to_owned() })
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The clock of arrivals under a profile; it runs at the ratio of the load to its mean.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    /// The load of each piece over the mean, and its length in picoseconds.
    pieces: Box<[(f64, f64)]>,
    piece: usize,
    left_ps: f64,
}

impl Pace {
    pub(crate) fn new(profile: &Profile) -> Self {
        let mean = profile.mean();
        let of_piece = |piece: &Piece| (piece.load / mean, piece.length.as_ps() as f64);
        let pieces: Box<[_]> = profile.pieces.iter().map(of_piece).collect();
        Self { piece: 0, left_ps: pieces[0].1, pieces }
    }

    /// The length of a gap that is `gap` long at the mean load.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive; `as` saturates")]
    pub(crate) fn stretch(&mut self, gap: Span) -> Span {
        let (mut gap_ps, mut passed_ps) = (gap.as_ps() as f64, 0.0);
        loop {
            let (factor, _) = self.pieces[self.piece];
            let needed_ps = if factor > 0.0 { gap_ps / factor } else { f64::INFINITY };
            if needed_ps <= self.left_ps {
                self.left_ps -= needed_ps;
                return Span::from_ps(libm::round(passed_ps + needed_ps) as u64);
            }
            gap_ps -= self.left_ps * factor;
            passed_ps += self.left_ps;
            self.piece = if self.piece + 1 == self.pieces.len() { 0 } else { self.piece + 1 };
            self.left_ps = self.pieces[self.piece].1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_steps_or_a_wave() {
        let wave: Profile = "wave:0.2..0.8/6400us".parse().unwrap();
        assert!((wave.mean() - 0.5).abs() < 1e-12 && wave.period() == Span::from_us(6400));
        let at = |us: u64| wave.at(Timestamp::ZERO + Span::from_us(us));
        assert!(at(50) < 0.201 && at(3_250) > 0.799 && at(6_450) == at(50));
        assert_eq!(wave.peak_end(), Span::from_us(3_200));
        let steps: Profile = "0/1ms,2/1ms,0.5/2ms".parse().unwrap();
        assert_eq!((steps.mean(), steps.peak_end()), (0.75, Span::from_ms(2)));
        for wrong in
            ["", "0.5", "0.5/", "0/1ms", "-1/1ms,1/1ms", "0.5/0us", "wave:0.9..0.2/1ms", "wave:0.1/1ms", "NaN/1ms"]
        {
            assert!(wrong.parse::<Profile>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_gap_is_as_long_as_the_load_is_low() {
        let mut pace = Pace::new(&"0.5/100us,1.5/100us,0/50us".parse().unwrap());
        // The mean is 0.8, so 0.625 and 1.875 of it: 62.5 µs of gap, then 187.5, then nothing.
        let mut stretched = |ns: u64| pace.stretch(Span::from_ns(ns)).as_ns_f64();
        let gaps = [stretched(31_250), stretched(31_250), stretched(187_500), stretched(6_250)];
        assert_eq!(gaps, [50e3, 50e3, 100e3, 60e3]);
        assert_eq!(stretched(250_000), 250e3, "a period of gaps is a period of time");
    }
}
