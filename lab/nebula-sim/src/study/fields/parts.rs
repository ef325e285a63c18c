//! Fields and columns, with those that all results have.

use crate::experiment::Effort;
use crate::interval::Interval;
use crate::study::outcome::Outcome;
use crate::study::text::{digits, ends, time, with_half};
use crate::study::units;
use nebula_nic::Span;
use nebula_ui::{Align, Cell, Row, Value};

/// Gets the value of a field; `None` if a row lacks it.
pub(crate) type Get<T> = Box<dyn Fn(&T) -> Option<Value>>;

/// A field of JSON and CSV.
pub struct Field<T: ?Sized> {
    /// Name. CSV appends the name of each of its parts.
    pub name: &'static str,
    /// Names of the parts of an object; empty for a plain value.
    pub parts: &'static [&'static str],
    /// The unit of its value; empty if it has none.
    pub unit: &'static str,
    /// Description, in one sentence.
    pub what: &'static str,
    get: Get<T>,
}

impl<T: ?Sized> Field<T> {
    pub(crate) fn new(
        name: &'static str,
        unit: &'static str,
        what: &'static str,
        get: impl Fn(&T) -> Option<Value> + 'static,
    ) -> Self {
        Self { name, parts: &[], unit, what, get: Box::new(get) }
    }

    pub(crate) fn parts(mut self, parts: &'static [&'static str]) -> Self {
        self.parts = parts;
        self
    }
}

/// Gets the text of a column; `None` if a row lacks it.
pub(crate) type Show<T> = Box<dyn Fn(&T) -> Option<String>>;

/// A column of a table.
pub struct Column<T: ?Sized> {
    /// The heading.
    pub heading: &'static str,
    /// The field that it shows, with its part: `latency_ns.p99`.
    pub of: &'static str,
    /// Alignment of its texts.
    pub align: Align,
    show: Show<T>,
}

impl<T: ?Sized> Column<T> {
    pub(crate) fn new(heading: &'static str, of: &'static str, show: impl Fn(&T) -> Option<String> + 'static) -> Self {
        Self { heading, of, align: Align::Right, show: Box::new(show) }
    }

    pub(crate) fn word(mut self) -> Self {
        self.align = Align::Left;
        self
    }
}

/// All fields of one kind of result, and the columns of its table.
pub struct Fields<T: ?Sized> {
    /// In the order of JSON and CSV.
    pub fields: Vec<Field<T>>,
    /// From left to right.
    pub columns: Vec<Column<T>>,
}

impl<T: ?Sized> Fields<T> {
    /// The row of one result.
    #[must_use]
    pub fn row(&self, result: &T) -> Row {
        let with_field = |row: Row, field: &Field<T>| match (field.get)(result) {
            Some(value) => row.field(field.name, value),
            None => row,
        };
        let with_cell = |row: Row, column: &Column<T>| match (column.show)(result) {
            Some(text) => row.cell(Cell { heading: column.heading.into(), text, align: column.align }),
            None => row,
        };
        self.columns.iter().fold(self.fields.iter().fold(Row::new(), with_field), with_cell)
    }

    /// Each field's name with its parts, unit, meaning, and columns.
    pub fn described(&self) -> impl Iterator<Item = [String; 4]> {
        self.fields.iter().map(|Field { name, parts, unit, what, .. }| {
            let shows = |column: &&Column<T>| column.of.split('.').next() == Some(name);
            let columns: Vec<String> =
                self.columns.iter().filter(shows).map(|column| column.heading.replace('\n', " ")).collect();
            let parts = if parts.is_empty() { String::new() } else { format!("{{{}}}", parts.join(", ")) };
            [format!("{name}{parts}"), (*unit).to_owned(), (*what).to_owned(), columns.join(", ")]
        })
    }
}

/// The shared fields read results of both levels through this.
pub(crate) trait Shown: 'static {
    fn effort(&self) -> &Effort;
    fn rpcs(&self) -> u64;
    fn slo(&self) -> Span;
    fn outcome(&self) -> Option<&Outcome>;

    /// A figure rounded to its significant digits.
    fn figure(&self, get: fn(&Outcome) -> f64) -> Value {
        self.outcome().map(|outcome| digits(get(outcome))).into()
    }

    fn shown(&self, show: fn(&Outcome) -> String) -> String {
        self.outcome().map_or("–".to_owned(), show)
    }
}

pub(crate) fn effort<T: Shown>() -> [Field<T>; 2] {
    [
        Field::new("seed", "", "what every random draw follows from", |of: &T| Some(of.effort().seed.0.into())),
        Field::new("rpcs", "RPCs", "measured in each replication", |of: &T| Some(of.rpcs().into())),
    ]
}

pub(crate) const QUANTILES: &[&str] = &["mean", "p50", "p90", "p99", "p999"];

pub(crate) fn ci<T: Shown>(
    name: &'static str,
    unit: &'static str,
    what: &'static str,
    get: fn(&Outcome) -> Interval,
) -> Field<T> {
    Field::new(name, unit, what, move |of: &T| Some(of.outcome().map_or(Value::Null, |outcome| ends(get(outcome)))))
}

pub(crate) fn throughput<T: Shown>() -> Vec<Field<T>> {
    vec![
        Field::new("throughput_mrps", "10⁶ RPC/s", "RPCs served", |of: &T| {
            Some(of.figure(|o| o.served_rps.value / 1e6))
        }),
        ci("throughput_mrps_ci", "10⁶ RPC/s", "both ends of its 95 % interval", |o| o.served_rps.scaled(1e-6)),
        Field::new("accepted", "share", "of the RPCs that came, those that were served", |of: &T| {
            Some(of.figure(|o| o.accepted.value))
        }),
        ci("accepted_ci", "share", "both ends of its 95 % interval", |o| o.accepted),
    ]
}

pub(crate) fn verdict<T: Shown>() -> Vec<Field<T>> {
    vec![
        Field::new("slo_ns", "ns", "the bound that the p99 is to keep", |of: &T| {
            Some(digits(of.slo().as_ns_f64()).into())
        }),
        Field::new(
            "meets_slo",
            "",
            "whether the p99 of all RPCs is within the SLO, a NACK counted as infinite: yes, no, or undecided where the SLO lies in its interval or the point is unsettled",
            |of: &T| Some(of.outcome().map_or("no", |outcome| outcome.met.name()).into()),
        ),
        Field::new(
            "unsettled",
            "",
            "true where too little was simulated for the intervals to hold: the load takes longer to settle",
            |of: &T| Some(of.outcome().is_some_and(|outcome| outcome.is_unsettled).into()),
        ),
    ]
}

pub(crate) fn latency<T: Shown>() -> Vec<Field<T>> {
    let all = Field::new("latency_ns", "ns", "of the RPCs served", |of: &T| {
        let get: [fn(&Outcome) -> f64; 5] =
            [|o| o.mean.value, |o| o.p50.value, |o| o.p90.value, |o| o.p99.value, |o| o.p999.value];
        let named = QUANTILES.iter().zip(get).map(|(&name, get)| (name, of.figure(get)));
        Some(Value::object(named))
    });
    vec![
        all.parts(QUANTILES),
        ci("latency_ns_mean_ci", "ns", "both ends of the 95 % interval of the mean", |o| o.mean),
        ci("latency_ns_p50_ci", "ns", "both ends of the 95 % interval of the p50", |o| o.p50),
        ci("latency_ns_p90_ci", "ns", "both ends of the 95 % interval of the p90", |o| o.p90),
        ci("latency_ns_p99_ci", "ns", "both ends of the 95 % interval of the p99", |o| o.p99),
        ci("latency_ns_p999_ci", "ns", "both ends of the 95 % interval of the p99.9", |o| o.p999),
    ]
}

pub(crate) fn outcome<T: Shown>() -> Vec<Field<T>> {
    [throughput(), verdict(), latency()].into_iter().flatten().collect()
}

pub(crate) fn replications<T: Shown>() -> [Field<T>; 3] {
    [
        Field::new("nacks", "", "NACKs sent, of all tries", |of: &T| Some(of.outcome().map(|o| o.nacks).into())),
        Field::new("replications", "", "independent runs that the intervals are made of", |of: &T| {
            Some(of.outcome().map(|o| o.replications).into())
        }),
        Field::new(
            "precise",
            "",
            "whether the precision asked for was reached, or of a search at the queueing level 1 % if none was; null if none was",
            |of: &T| Some(of.outcome().and_then(|o| o.is_precise).into()),
        ),
    ]
}

// -- columns of both levels --

pub(crate) fn served<T: Shown>() -> Column<T> {
    Column::new("served", "throughput_mrps", |of: &T| Some(of.shown(|o| with_half(o.served_rps, units::rate))))
}

pub(crate) fn nacked<T: Shown>() -> Column<T> {
    Column::new("NACKed", "accepted", |of: &T| {
        Some(of.shown(|o| {
            let Interval { value, lo, hi } = o.accepted;
            with_half(Interval { value: 1.0 - value, lo: 1.0 - hi, hi: 1.0 - lo }, units::percent)
        }))
    })
}

pub(crate) fn mean<T: Shown>() -> Column<T> {
    Column::new("mean", "latency_ns.mean", |of: &T| Some(of.shown(|o| with_half(o.mean, time))))
}

pub(crate) fn p50<T: Shown>() -> Column<T> {
    Column::new("p50", "latency_ns.p50", |of: &T| Some(of.shown(|o| with_half(o.p50, time))))
}

pub(crate) fn p99<T: Shown>() -> Column<T> {
    Column::new("p99", "latency_ns.p99", |of: &T| Some(of.shown(|o| with_half(o.p99, time))))
}

pub(crate) fn p999<T: Shown>() -> Column<T> {
    Column::new("p99.9", "latency_ns.p999", |of: &T| Some(of.shown(|o| with_half(o.p999, time))))
}

pub(crate) fn slo<T: Shown>() -> Column<T> {
    Column::new("SLO", "slo_ns", |of: &T| Some(units::span(of.slo())))
}

pub(crate) fn met<T: Shown>() -> Column<T> {
    Column::new("met", "meets_slo", |of: &T| {
        Some(
            of.shown(|o| if o.is_unsettled { format!("{}, unsettled", o.met.name()) } else { o.met.name().to_owned() }),
        )
    })
}
