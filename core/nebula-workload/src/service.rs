//! The time for which an RPC occupies its core.
//!
//! A [`ServiceTime`] is a distribution with one spelling everywhere. Its mean and squared
//! coefficient of variation are exact, and drawing does not allocate. Times are rounded to whole
//! picoseconds, at most [`Span::MAX`].
//!
//! | spelling | meaning |
//! |---|---|
//! | `fixed:1us` | always the same |
//! | `exp:1us` | exponential of this mean |
//! | `uniform:0ns-2us` | each picosecond from first to last is equally likely |
//! | `bimodal:500ns@0.9,5500ns@0.1` | two or more times with their shares |
//! | `lognormal:mean=1us,sigma=1.5`, `lognormal:mean=1us,scv=1` | by the deviation of the logarithm, or the squared CV |
//! | `gev:loc=181.5ns,scale=50ns,shape=0.65` | generalized extreme value, negative times replaced by 0 |
//! | `pareto:min=500ns,alpha=1.5`, `pareto:min=500ns,alpha=1.5,max=1ms` | power law; the second form is truncated at `max` |
//! | `trace:FILE`, `trace:FILE#COLUMN` | recorded times, one per line, drawn with replacement |
//! | `fixed:300ns+exp:300ns` | the sum of independent parts |
//! | `mix:get=0.995*exp:1us;scan=0.005*fixed:500us` | request types with their shares |
//!
//! A part of a sum is any of the first eight; a type of a mix is one of those or a sum.
//!
//! # How to add a distribution
//!
//! Add a file under `service/` with a type that implements `Law` and its `KIND`, a variant in
//! `Part`, and a line in `without_file` of `service/parse.rs`; add a line to `tests/service_law.rs`
//! so that the draws are checked against the law.

mod moments;
mod law;
mod part;
mod steady;
mod uniform;
mod points;
mod lognormal;
mod gev;
mod pareto;
mod empirical;
mod request_mix;
mod parse;

use std::fmt;
use std::io::BufRead;
use std::sync::Arc;

use nebula_nic::Span;

use crate::error::WorkloadError;
use crate::rng::Rng;
use crate::streams::Streams;
use empirical::Empirical;
use moments::Moments;
use part::Part;
use request_mix::{RequestMix, RequestType};

/// The number of a request type, counted from 0 in the order of the mix.
///
/// # Examples
///
/// ```
/// use nebula_workload::{ServiceTime, TypeId};
///
/// let service: ServiceTime = "mix:get=0.995*exp:1us;scan=0.005*fixed:500us".parse()?;
/// assert_eq!(service.of_type(TypeId(1)).map(ServiceTime::mean_ps), Some(500e6));
/// # Ok::<(), nebula_workload::WorkloadError>(())
/// ```
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(pub u8);

/// A distribution of service times: see the [spellings](self).
///
/// # Examples
///
/// ```
/// use nebula_workload::{Seed, ServiceTime};
///
/// let service: ServiceTime = "fixed:300ns+exp:300ns".parse()?;
/// assert_eq!((service.mean_ps(), service.scv()), (600e3, Some(0.25)));
/// assert!(service.sample(&mut Seed(1).stream("service")).as_ns() >= 300);
///
/// let error = "exp:fast".parse::<ServiceTime>().unwrap_err().to_string();
/// assert_eq!(error, "service time \"exp:fast\" is not understood: write exp:TIME such as exp:1us");
/// # Ok::<(), nebula_workload::WorkloadError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceTime {
    shape: Shape,
    moments: Moments,
}

#[derive(Clone, Debug, PartialEq)]
enum Shape {
    Part(Part),
    Sum(Box<[Part]>),
    Mix(RequestMix),
}

impl ServiceTime {
    /// Draws a service time, without allocation, in a time independent of earlier draws. `exp`
    /// takes one draw and one logarithm; `lognormal` draws again with probability 0.21.
    #[inline]
    #[must_use]
    pub fn sample(&self, rng: &mut Rng) -> Span {
        match &self.shape {
            Shape::Part(part) => part.sample(rng),
            Shape::Sum(parts) => sample_sum(parts, rng),
            Shape::Mix(mix) => mix.sample(rng).1,
        }
    }

    /// Draws a service time and the type of its request: type 0 unless this is a mix. The times
    /// equal those that [`sample`](Self::sample) draws from the same stream.
    #[inline]
    #[must_use]
    pub fn sample_typed(&self, rng: &mut Rng) -> (TypeId, Span) {
        match &self.shape {
            Shape::Mix(mix) => mix.sample(rng),
            _ => (TypeId(0), self.sample(rng)),
        }
    }

    /// Draws the next `times.len()` service times and the types of their requests, the same as so
    /// many calls of [`sample_typed`](Self::sample_typed), faster.
    ///
    /// # Panics
    ///
    /// If `types` and `times` differ in length.
    pub fn fill_typed(&self, rng: &mut Rng, types: &mut [TypeId], times: &mut [Span]) {
        assert_eq!(types.len(), times.len(), "each time has a type");
        match &self.shape {
            Shape::Mix(mix) => types.iter_mut().zip(times).for_each(|(kind, time)| (*kind, *time) = mix.sample(rng)),
            Shape::Sum(parts) => times.fill_with(|| sample_sum(parts, rng)),
            Shape::Part(part) => part.fill(rng, times),
        }
        if !matches!(self.shape, Shape::Mix(_)) {
            types.fill(TypeId(0));
        }
    }

    /// Draws rows of service times in whole picoseconds; each column has the numbers that its
    /// stream alone draws with [`sample`](Self::sample). Exponential times and those of two points
    /// are drawn in vectors, others one by one.
    #[inline(always)]
    pub fn fill_side_by_side<const N: usize, const ROWS: usize>(
        &self,
        streams: &mut Streams<N>,
        rows: &mut [[f64; N]; ROWS],
    ) {
        match &self.shape {
            Shape::Part(Part::Exponential(law)) => law.fill_side_by_side(streams, rows),
            Shape::Part(Part::Points(law)) if law.is_pair() => law.fill_pair_side_by_side(streams, rows),
            _ => self.fill_one_by_one(streams, rows),
        }
    }

    #[inline(never)]
    fn fill_one_by_one<const N: usize>(&self, streams: &mut Streams<N>, rows: &mut [[f64; N]]) {
        for lane in 0..N {
            streams.with_one(lane, |stream| {
                rows.iter_mut().for_each(|row| row[lane] = self.sample(stream).as_ps() as f64);
            });
        }
    }

    /// The request types with their shares, by [`TypeId`]; one called `all` unless this is a mix.
    #[must_use]
    pub fn types(&self) -> Vec<(String, f64)> {
        match &self.shape {
            Shape::Mix(mix) => mix.types().map(|kind| (kind.name.to_string(), kind.share)).collect(),
            _ => vec![("all".to_owned(), 1.0)],
        }
    }

    /// The service time of one type; `None` for an unknown type.
    #[must_use]
    pub fn of_type(&self, TypeId(index): TypeId) -> Option<&Self> {
        match &self.shape {
            Shape::Mix(mix) => mix.types().nth(index.into()).map(|kind| &kind.service),
            _ => (index == 0).then_some(self),
        }
    }

    /// Whether times are purely exponential, as in M/M/k.
    #[must_use]
    pub const fn is_exponential(&self) -> bool {
        matches!(self.shape, Shape::Part(Part::Exponential(_)))
    }

    /// The mean in picoseconds, from the distribution and not from draws; above 0 and finite.
    #[must_use]
    pub fn mean_ps(&self) -> f64 {
        self.moments.mean_ps
    }

    /// The squared coefficient of variation, variance / mean²: 0 for fixed times, 1 for exponential
    /// ones. `None` if the variance is infinite: the mean of a run then converges too slowly for a
    /// confidence interval.
    #[must_use]
    pub fn scv(&self) -> Option<f64> {
        self.moments.scv()
    }

    /// The distribution of recorded times, read from the lines of `source`; its spelling is
    /// `trace:name`. Keeps every time, at 8 B each.
    ///
    /// # Errors
    ///
    /// [`WorkloadError::SampleLine`] for a line that is not a time, [`WorkloadError::SampleFile`]
    /// for a source that cannot be read or has no time, [`WorkloadError::Spelling`] for a name that
    /// would not parse back, and [`WorkloadError::OutOfRange`] if all times are 0.
    pub fn from_samples(name: &str, source: impl BufRead) -> Result<Self, WorkloadError> {
        Self::from_part(Part::Empirical(Empirical::read(name, source)?))
    }

    /// The distribution of times already in memory, such as those that a run has just measured.
    pub fn from_spans(name: &str, spans: impl Into<Arc<[Span]>>) -> Result<Self, WorkloadError> {
        Self::from_part(Part::Empirical(Empirical::new(name, spans.into())?))
    }

    /// The mix of request types of these names, shares and laws, none of which is a mix. Its
    /// spelling parses back if those of its laws do.
    ///
    /// # Errors
    ///
    /// [`WorkloadError::OutOfRange`] for more than 256 types, shares that are negative or add up to
    /// 0, or a mean of 0.
    pub fn mix_of(types: impl IntoIterator<Item = (String, f64, Self)>) -> Result<Self, WorkloadError> {
        let of = |(name, share, service): (String, f64, Self)| RequestType { name: name.into(), share, service };
        Self::from_mix(RequestMix::new(types.into_iter().map(of).collect())?)
    }

    fn from_part(part: Part) -> Result<Self, WorkloadError> {
        let moments = part.moments();
        Self { shape: Shape::Part(part), moments }.checked()
    }

    fn from_sum(parts: Vec<Part>) -> Result<Self, WorkloadError> {
        let moments = parts.iter().map(Part::moments).sum();
        Self { shape: Shape::Sum(parts.into()), moments }.checked()
    }

    fn from_mix(mix: RequestMix) -> Result<Self, WorkloadError> {
        let moments = Moments::of_mixture(mix.types().map(|kind| (kind.share, kind.service.moments)));
        Self { shape: Shape::Mix(mix), moments }.checked()
    }

    /// Refuses a mean of 0, which would make every load equal.
    fn checked(self) -> Result<Self, WorkloadError> {
        let mean_ps = self.mean_ps();
        let wrong = || WorkloadError::out_of_range("mean service time in ps", mean_ps, "use times above 0");
        if mean_ps > 0.0 && mean_ps.is_finite() { Ok(self) } else { Err(wrong()) }
    }
}

/// The spelling that parses to the same distribution.
impl fmt::Display for ServiceTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.shape {
            Shape::Part(part) => write!(f, "{part}"),
            Shape::Sum(parts) => parts.iter().enumerate().try_for_each(|(index, part)| {
                let plus = if index == 0 { "" } else { "+" };
                write!(f, "{plus}{part}")
            }),
            Shape::Mix(mix) => write!(f, "{mix}"),
        }
    }
}

fn sample_sum(parts: &[Part], rng: &mut Rng) -> Span {
    parts.iter().map(|part| part.sample(rng)).sum()
}
