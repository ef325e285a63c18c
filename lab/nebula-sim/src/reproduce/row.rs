//! When is a figure reproduced? One comparison, and the rule that judges it.
//!
//! A published value is **reproduced** if our value is within the figure's tolerance of it, or if
//! our interval contains it and is narrow: its half-width is at most a fifth of our value. A wide
//! interval would contain almost any value. A bound is reproduced if our value keeps it.
//!
//! An **effect** is a ratio or a difference of two designs, with a neutral value that means "no
//! effect". It is judged by its gain over the neutral value: the tolerance is at most a third of
//! the published gain, and a narrow interval's half-width at most a fifth of our gain. So a gain of
//! 4.8 % does not reproduce one of 13 %, whatever the tolerance of the ratio.
//!
//! A figure that depends on an unpublished parameter never counts as reproduced, since a suitable
//! parameter could be chosen. Nor does one to which a parameter of ours is fitted: if our value
//! agrees, the row is **fitted**. A figure without a value of ours is **cited**.
//!
//! Any other value **differs**, or is **not reproducible as published**: the published set-up
//! cannot give it, or omits a decisive parameter. The row states the reason with the run's numbers.

use super::paper::{Figure, Relation};
use crate::interval::Interval;
use std::fmt;

/// The result of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgment {
    /// Our value is the published one, within the tolerance or the interval.
    Reproduced,
    /// The set-up is the published one, and the value differs.
    Differs,
    /// The published set-up cannot give the value, or is not published in full.
    NotReproducibleAsPublished,
    /// Our value agrees because a parameter is fitted to the published value, or is it.
    Fitted,
    /// A published value for which the laboratory has none.
    Cited,
    /// A value without a published one: a variant of the set-up.
    Note,
}

impl fmt::Display for Judgment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Reproduced => "reproduced",
            Self::Differs => "differs",
            Self::NotReproducibleAsPublished => "not-reproducible-as-published",
            Self::Fitted => "fitted",
            Self::Cited => "cited",
            Self::Note => "note",
        })
    }
}

/// One value, published and reproduced.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    id: String,
    what: String,
    unit: String,
    published: Option<Figure>,
    reproduced: Interval,
    judgment: Judgment,
    why: Option<String>,
    unfitted: Option<(Interval, Judgment)>,
}

impl Row {
    /// Compares `ours` with a published value; `otherwise` applies if it is not reproduced.
    #[must_use]
    pub fn judged(figure: &Figure, ours: Interval, otherwise: (Judgment, String)) -> Self {
        let (judgment, why) = match (is_reproduced(figure, ours), &figure.assumes) {
            (true, _) if figure.fitted.is_some() => (Judgment::Fitted, figure.fitted.clone()),
            (true, None) => (Judgment::Reproduced, None),
            (true, Some(_)) => (Judgment::NotReproducibleAsPublished, Some(otherwise.1)),
            (false, _) => (otherwise.0, Some(otherwise.1)),
        };
        Self {
            id: figure.id.clone(),
            what: figure.what.clone(),
            unit: figure.unit.clone(),
            published: Some(figure.clone()),
            reproduced: ours,
            judgment,
            why,
            unfitted: None,
        }
    }

    /// A published value for which the laboratory has none: `reproduced` is NaN.
    #[must_use]
    pub fn cited(figure: &Figure) -> Self {
        Self {
            id: figure.id.clone(),
            what: figure.what.clone(),
            unit: figure.unit.clone(),
            published: Some(figure.clone()),
            reproduced: Interval::exact(f64::NAN),
            judgment: Judgment::Cited,
            why: figure.cited.clone(),
            unfitted: None,
        }
    }

    /// A value without a published counterpart.
    #[must_use]
    pub fn note(id: String, what: String, unit: &str, ours: Interval) -> Self {
        let unit = unit.to_owned();
        Self { id, what, unit, published: None, reproduced: ours, judgment: Judgment::Note, why: None, unfitted: None }
    }

    /// Replaces the judgment "reproduced" by `otherwise`, unless `is_met`.
    #[must_use]
    pub fn only_if(self, is_met: bool, otherwise: (Judgment, String)) -> Self {
        if is_met || self.judgment != Judgment::Reproduced {
            return self;
        }
        Self { judgment: otherwise.0, why: Some(otherwise.1), ..self }
    }

    /// Adds the value of the same runs without fitted parameters, judged by the same rule.
    #[must_use]
    pub fn beside(mut self, unfitted: Option<Interval>) -> Self {
        self.unfitted = unfitted.zip(self.published.as_ref()).map(|(ours, figure)| {
            let judgment = match (is_reproduced(figure, ours), &figure.assumes) {
                (true, None) => Judgment::Reproduced,
                (_, Some(_)) => Judgment::NotReproducibleAsPublished,
                (false, None) => Judgment::Differs,
            };
            (ours, judgment)
        });
        self
    }

    /// Adds a remark to a row that has none.
    #[must_use]
    pub fn remark(mut self, why: impl FnOnce() -> String) -> Self {
        self.why = self.why.or_else(|| Some(why()));
        self
    }

    /// The name.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What is compared.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.what
    }

    /// The unit of both values.
    #[must_use]
    pub fn unit(&self) -> &str {
        &self.unit
    }

    /// The published value; `None` for a note.
    #[must_use]
    pub const fn published(&self) -> Option<&Figure> {
        self.published.as_ref()
    }

    /// Our value, with its interval.
    #[must_use]
    pub const fn reproduced(&self) -> Interval {
        self.reproduced
    }

    /// Our value divided by the published value; `None` for a note.
    #[must_use]
    pub fn ratio(&self) -> Option<f64> {
        self.published.as_ref().map(|figure| self.reproduced.value / figure.value)
    }

    /// The judgment.
    #[must_use]
    pub const fn judgment(&self) -> Judgment {
        self.judgment
    }

    /// Our value without fitted parameters and its judgment, if such runs are made.
    #[must_use]
    pub const fn unfitted(&self) -> Option<(Interval, Judgment)> {
        self.unfitted
    }

    /// The reason why it is not reproduced, or a remark.
    #[must_use]
    pub fn why(&self) -> Option<&str> {
        self.why.as_deref()
    }
}

/// The largest half-width of an interval that counts, as a share of the value.
const RELATIVE_MAX: f64 = 0.2;

/// The largest deviation of an effect, as a share of its gain.
const GAIN_MAX: f64 = 1.0 / 3.0;

fn is_reproduced(figure: &Figure, ours: Interval) -> bool {
    if let Some(neutral) = figure.neutral {
        let gain = figure.value - neutral;
        let gained = Interval { value: ours.value - neutral, lo: ours.lo - neutral, hi: ours.hi - neutral };
        let tolerance = figure.tolerance.min(GAIN_MAX * gain.abs());
        return is_near(figure.relation, (gain, tolerance), gained);
    }
    is_near(figure.relation, (figure.value, figure.tolerance), ours)
}

fn is_near(relation: Relation, (published, tolerance): (f64, f64), ours: Interval) -> bool {
    // The rounding of a printed value must not decide.
    let slack = 1e-9 * published.abs();
    match relation {
        Relation::Equal => {
            let is_near = (ours.value - published).abs() <= tolerance + slack;
            is_near || (ours.relative() <= RELATIVE_MAX && ours.contains(published))
        }
        Relation::AtMost => ours.value <= published + tolerance + slack,
        Relation::AtLeast => ours.value >= published - tolerance - slack,
    }
}

#[cfg(test)]
mod tests {
    use super::super::paper::Origin;
    use super::*;

    fn figure(relation: Relation) -> Figure {
        let text = || "x".to_owned();
        let (id, what, unit, tolerance_why, source) = (text(), text(), text(), text(), text());
        let (value, tolerance, origin) = (100.0, 2.0, Origin::Paper);
        let [assumes, fitted, cited, same_as] = [None, None, None, None];
        Figure {
            id,
            what,
            value,
            unit,
            relation,
            tolerance,
            tolerance_why,
            origin,
            source,
            assumes,
            fitted,
            cited,
            neutral: None,
            same_as,
        }
    }

    fn judgment(relation: Relation, value: f64, half: f64) -> Judgment {
        let ours = Interval { value, lo: value - half, hi: value + half };
        Row::judged(&figure(relation), ours, (Judgment::Differs, "because".to_owned())).judgment()
    }

    #[test]
    fn a_value_within_the_tolerance_or_a_narrow_interval_is_reproduced() {
        assert_eq!(judgment(Relation::Equal, 102.0, 0.0), Judgment::Reproduced);
        assert_eq!(judgment(Relation::Equal, 103.0, 1.0), Judgment::Differs);
        assert_eq!(judgment(Relation::Equal, 103.0, 4.0), Judgment::Reproduced);
        assert_eq!(judgment(Relation::Equal, 300.0, 240.0), Judgment::Differs, "too wide to say anything");
        assert_eq!(judgment(Relation::Equal, f64::INFINITY, 0.0), Judgment::Differs);
        assert_eq!(judgment(Relation::Equal, f64::NAN, 0.0), Judgment::Differs);
    }

    #[test]
    fn a_bound_is_reproduced_where_it_is_kept() {
        assert_eq!(judgment(Relation::AtMost, 3.0, 0.0), Judgment::Reproduced);
        assert_eq!(judgment(Relation::AtMost, 103.0, 50.0), Judgment::Differs);
        assert_eq!(judgment(Relation::AtLeast, 103.0, 0.0), Judgment::Reproduced);
        assert_eq!(judgment(Relation::AtLeast, 97.0, 50.0), Judgment::Differs);
    }

    #[test]
    fn a_near_value_is_not_enough_where_more_is_asked_for() {
        let row =
            Row::judged(&figure(Relation::Equal), Interval::exact(100.0), (Judgment::Differs, "because".to_owned()));
        let otherwise = (Judgment::NotReproducibleAsPublished, "but".to_owned());
        assert_eq!(row.clone().only_if(true, otherwise.clone()), row);
        let taken_back = row.only_if(false, otherwise);
        assert_eq!((taken_back.judgment(), taken_back.why()), (Judgment::NotReproducibleAsPublished, Some("but")));
    }

    #[test]
    fn what_rests_on_an_assumption_is_not_reproduced() {
        let figure = Figure { assumes: Some("luck".to_owned()), ..figure(Relation::Equal) };
        let row = Row::judged(&figure, Interval::exact(100.0), (Judgment::Differs, "because".to_owned()));
        assert_eq!((row.judgment(), row.why()), (Judgment::NotReproducibleAsPublished, Some("because")));
    }

    #[test]
    fn what_is_fitted_or_cited_is_not_reproduced_and_a_bad_fit_differs() {
        let fitted = Figure { fitted: Some("c and d".to_owned()), ..figure(Relation::Equal) };
        let row = |value| Row::judged(&fitted, Interval::exact(value), (Judgment::Differs, "because".to_owned()));
        assert_eq!((row(101.0).judgment(), row(101.0).why()), (Judgment::Fitted, Some("c and d")));
        assert_eq!((row(103.0).judgment(), row(103.0).why()), (Judgment::Differs, Some("because")));
        let cited = Row::cited(&Figure { cited: Some("no model".to_owned()), ..figure(Relation::Equal) });
        assert_eq!((cited.judgment(), cited.why()), (Judgment::Cited, Some("no model")));
        assert!(cited.reproduced().value.is_nan() && cited.published().is_some());
    }

    #[test]
    fn an_effect_is_judged_by_its_gain() {
        let gain_of = |value: f64, half: f64| {
            let figure = Figure { value: 1.17, tolerance: 0.175, neutral: Some(1.0), ..figure(Relation::Equal) };
            let ours = Interval { value, lo: value - half, hi: value + half };
            Row::judged(&figure, ours, (Judgment::Differs, "because".to_owned())).judgment()
        };
        assert_eq!(gain_of(1.12, 0.0), Judgment::Reproduced);
        assert_eq!(gain_of(1.048, 0.0), Judgment::Differs, "a third of the gain, within the tolerance of the ratio");
        assert_eq!(gain_of(1.0, 0.2), Judgment::Differs, "no effect, with an interval that is wider than the effect");
        assert_eq!(gain_of(1.105, 0.08), Judgment::Differs, "the interval is narrow for a ratio and wide for a gain");
    }

    #[test]
    fn what_nothing_was_fitted_for_is_judged_by_itself() {
        let row = |unfitted: f64| {
            let otherwise = (Judgment::Differs, "because".to_owned());
            let row = Row::judged(&figure(Relation::Equal), Interval::exact(100.0), otherwise);
            row.beside(Some(Interval::exact(unfitted))).unfitted().map(|(_, judgment)| judgment)
        };
        assert_eq!((row(101.0), row(103.0)), (Some(Judgment::Reproduced), Some(Judgment::Differs)));
    }

    #[test]
    fn a_reproduced_row_needs_no_reason_and_any_other_has_one() {
        let row = |value| {
            let otherwise = (Judgment::Differs, "because".to_owned());
            Row::judged(&figure(Relation::Equal), Interval::exact(value), otherwise)
        };
        assert_eq!((row(100.0).why(), row(50.0).why()), (None, Some("because")));
        assert_eq!(row(50.0).ratio(), Some(0.5));
        assert_eq!(row(50.0).remark(|| "more".to_owned()).why(), Some("because"));
        assert_eq!(row(100.0).remark(|| "more".to_owned()).why(), Some("more"));
    }
}
