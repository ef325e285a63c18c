//! Values with a published counterpart, each with a reason made from the numbers of its runs.

use super::super::paper;
use super::super::row::{Judgment, Row};
use super::super::wording::{number, with_interval};
use super::bench::Bench;
use super::case::Case;
use super::point::{self, Highest, Point};
use super::say;
use crate::interval::Interval;
use crate::reproduce::reproduction::ReproduceError;
use std::sync::Arc;

pub(in super::super) struct Value {
    pub(in super::super) id: String,
    pub(in super::super) value: Interval,
    pub(in super::super) why: String,
    /// The value without fitted parameters, where such runs are made.
    pub(in super::super) unfitted: Option<Interval>,
}

pub(in super::super) type Values = Result<Value, ReproduceError>;

/// Compares a value with the published one. The row has the explanation even if it agrees.
pub(in super::super) fn judged(value: Value) -> Row {
    let figure = paper::nebula().figure(&value.id);
    let unfitted = value.unfitted;
    let value = Value { why: with_gain(figure, &value), ..value };
    let otherwise = match &figure.assumes {
        None => (Judgment::Differs, value.why.clone()),
        Some(_) => (Judgment::NotReproducibleAsPublished, value.why.clone()),
    };
    Row::judged(figure, value.value, otherwise).remark(|| value.why).beside(unfitted)
}

/// The explanation; for a ratio that is an effect, with the gain by which it is judged.
fn with_gain(figure: &paper::Figure, value: &Value) -> String {
    let Some(neutral) = figure.neutral.filter(|&neutral| neutral > 0.0) else { return value.why.clone() };
    let percent = |ratio: f64| number(100.0 * (ratio / neutral - 1.0));
    format!("the effect is {} % (published {} %); {}", percent(value.value.value), percent(figure.value), value.why)
}

impl Bench<'_> {
    fn title(&self, case: Case) -> String {
        case.title(self.setup)
    }

    /// The highest rate at the SLO, explained with the results at the printed load.
    pub(in super::super) fn rate(&self, id: &str, case: Case, gap_ns: f64) -> Values {
        let (highest, point) = (self.highest(case)?, self.at(case, gap_ns)?);
        let mut why = format!(
            "{}, where DRAM moves {} of {} GB/s; the SLO is {} ns; {}",
            say::up_to(&self.title(case), &highest),
            number(highest.gb_per_s.value),
            number(self.dram_gb_per_s_max()),
            number(self.slo(case)?.as_ns_f64()),
            say::shown(&self.title(case), &point),
        );
        let unfitted = self.unfitted(case)?.map(|unfitted| unfitted.rate());
        if let Some(rate) = unfitted {
            why += &format!("; with nothing fitted it is up to {} MRPS", with_interval(rate));
        }
        Ok(Value { id: id.to_owned(), value: highest.rate(), why, unfitted })
    }

    /// The p99 at a load, in units of the SLO.
    pub(in super::super) fn slos(&self, id: &str, case: Case, gap_ns: f64) -> Values {
        let (point, slo_ns) = (self.at(case, gap_ns)?, self.slo(case)?.as_ns_f64());
        let why = format!("{}; the SLO is {} ns", say::shown(&self.title(case), &point), number(slo_ns));
        Ok(Value { id: id.to_owned(), value: point.p99_ns().scaled(1.0 / slo_ns), why, unfitted: None })
    }

    pub(in super::super) fn bandwidth(&self, id: &str, case: Case, gap_ns: f64) -> Values {
        self.point(id, case, gap_ns, Point::gb_per_s)
    }

    pub(in super::super) fn point(
        &self,
        id: &str,
        case: Case,
        gap_ns: f64,
        figure: impl FnOnce(&Point) -> Interval,
    ) -> Values {
        let point = self.at(case, gap_ns)?;
        let why = say::shown(&self.title(case), &point);
        Ok(Value { id: id.to_owned(), value: figure(&point), why, unfitted: None })
    }

    pub(in super::super) fn rates(&self, id: &str, one: Case, other: Case) -> Values {
        self.compared(id, one, other, |one, other| one / other)
    }

    pub(in super::super) fn gain(&self, id: &str, one: Case, other: Case) -> Values {
        self.compared(id, one, other, |one, other| one - other)
    }

    fn compared(&self, id: &str, one: Case, other: Case, compare: impl Fn(f64, f64) -> f64) -> Values {
        let (above, below) = (self.highest(one)?, self.highest(other)?);
        let mut why = format!("{}, {}", say::up_to(&self.title(one), &above), say::up_to(&self.title(other), &below));
        let unfitted = self.unfitted(one)?.zip(self.unfitted(other)?);
        let unfitted = unfitted.map(|(above, below)| above.compared(&below, &compare));
        if let Some(value) = unfitted {
            why += &format!("; with nothing fitted it is {}", with_interval(value));
        }
        Ok(Value { id: id.to_owned(), value: above.compared(&below, compare), why, unfitted })
    }

    pub(in super::super) fn tails(&self, id: &str, one: Case, other: Case, gap_ns: f64) -> Values {
        self.contrasted(id, (one, other), gap_ns, |one, other| one / other)
    }

    pub(in super::super) fn tail_gain(&self, id: &str, one: Case, other: Case, gap_ns: f64) -> Values {
        self.contrasted(id, (one, other), gap_ns, |one, other| one - other)
    }

    fn contrasted(
        &self,
        id: &str,
        (one, other): (Case, Case),
        gap_ns: f64,
        compare: impl Fn(f64, f64) -> f64,
    ) -> Values {
        let (above, below) = (self.at(one, gap_ns)?, self.at(other, gap_ns)?);
        let elsewhere = self.contrasted_elsewhere((one, other), &compare)?;
        let (above_said, below_said) = (say::served(&self.title(one), &above), say::served(&self.title(other), &below));
        let why = format!("at {} MRPS {above_said}; {below_said}; {elsewhere}", number(above.mrps));
        let value = point::over(&above, &below, |one, other| compare(one.p99_ns, other.p99_ns));
        Ok(Value { id: id.to_owned(), value, why, unfitted: None })
    }

    /// The same comparison at every load that both curves have.
    fn contrasted_elsewhere(
        &self,
        (one, other): (Case, Case),
        compare: &impl Fn(f64, f64) -> f64,
    ) -> Result<String, ReproduceError> {
        let (above, below) = (self.curve(one)?, self.curve(other)?);
        let pairs = above.iter().zip(&below);
        let said = pairs.filter_map(|(one, other)| {
            let value = point::over(one, other, |one, other| compare(one.p99_ns, other.p99_ns)).value;
            value.is_finite().then(|| format!("{} at {}", number(value), number(one.mrps)))
        });
        Ok(format!("by load in MRPS the value is {}", said.collect::<Vec<_>>().join(", ")))
    }

    /// As notes, the highest rate at the SLO and its DRAM bandwidth, without fitted parameters.
    pub(in super::super) fn unfitted_notes(
        &self,
        id: &str,
        what: &str,
        case: Case,
    ) -> Result<Vec<Row>, ReproduceError> {
        let Some(highest) = self.unfitted(case)? else { return Ok(Vec::new()) };
        let row = |name: &str, said: &str, unit, value| {
            Row::note(format!("{id}/{name}/unfitted"), format!("{what}: {said}, nothing fitted"), unit, value)
        };
        Ok(vec![
            row("rate", "highest rate at the SLO", "MRPS", highest.rate()),
            row("bandwidth", "DRAM bandwidth at that rate", "GB/s", highest.gb_per_s),
        ])
    }

    /// The result of this case's search without fitted parameters, if that search runs.
    fn unfitted(&self, case: Case) -> Result<Option<Arc<Highest>>, ReproduceError> {
        if !self.is_unfitted_run(case) {
            return Ok(None);
        }
        self.highest(case.unfitted()).map(Some)
    }
}
