//! `trace:FILE`: recorded times, all equally likely, drawn with replacement.

use std::fmt;
use std::io::BufRead;
use std::sync::Arc;

use nebula_nic::Span;

use super::law::Law;
use super::moments::Moments;
use crate::column;
use crate::error::WorkloadError;
use crate::rng::Rng;

#[derive(Clone, PartialEq)]
pub(super) struct Empirical {
    name: Arc<str>,
    /// Never empty.
    spans: Arc<[Span]>,
}

impl Empirical {
    pub(super) fn new(name: &str, spans: Arc<[Span]>) -> Result<Self, WorkloadError> {
        if !reads_back(name) {
            return Err(WorkloadError::spelling("service time", &format!("trace:{name}"), EXPECTED));
        }
        if spans.is_empty() {
            return Err(WorkloadError::sample_file(name, "used", "it holds no service time"));
        }
        Ok(Self { name: name.into(), spans })
    }

    pub(super) fn read(name: &str, source: impl BufRead) -> Result<Self, WorkloadError> {
        let mut spans = Vec::new();
        column::read(name, source, |ps| {
            let ps = u64::try_from(ps).map_err(|_| "no service time is longer than 213 days")?;
            spans.push(Span::from_ps(ps));
            Ok(())
        })?;
        Self::new(name, spans.into())
    }
}

pub(super) const EXPECTED: &str = "trace:FILE, a name without + and ;";

fn reads_back(name: &str) -> bool {
    !name.is_empty() && name.trim() == name && !name.contains(['+', ';'])
}

impl Law for Empirical {
    #[expect(clippy::cast_possible_truncation, reason = "below the length of a slice")]
    fn sample(&self, rng: &mut Rng) -> Span {
        self.spans[rng.below(self.spans.len() as u64) as usize]
    }

    fn moments(&self) -> Moments {
        let count = self.spans.len() as f64;
        let each = || self.spans.iter().map(|span| span.as_ps() as f64);
        let mean_ps = each().sum::<f64>() / count;
        Moments { mean_ps, variance: each().map(|ps| (ps - mean_ps).powi(2)).sum::<f64>() / count }
    }
}

impl fmt::Display for Empirical {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "trace:{}", self.name)
    }
}

/// Omits the times, of which there may be millions.
impl fmt::Debug for Empirical {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Empirical").field("name", &self.name).field("count", &self.spans.len()).finish()
    }
}
