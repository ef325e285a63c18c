//! What was found, described once for tables, JSON and CSV.

use nebula_sim::CoreTime;

use crate::output::interval::{load, time, with_half};
use crate::output::{Row, Value, units};
use crate::simulate::{Ask, Figures, Found, rows as simulated};

/// One system at one load: the fields of `simulate`, with the system's name before and its cores' time behind.
pub(super) fn row(found: &Found) -> Row {
    let shares = |figures: &Figures| {
        let named = CoreTime::NAMES.into_iter().zip(figures.core_time.shares());
        Value::Object(named.map(|(name, share)| (name, crate::output::interval::digits(share).into())).collect())
    };
    let row = simulated::fields(Row::new().field("system", found.point.name.clone()), found)
        .field("dedicated", u32::from(found.point.system.dedicated))
        .field("core_time", found.figures.as_ref().map_or(Value::Null, shares));
    with_table(row, found)
}

fn with_table(row: Row, found: &Found) -> Row {
    let of = |get: &dyn Fn(&Figures) -> String| found.figures.as_ref().map_or("–".to_owned(), get);
    let row = row.word("system", found.point.name.clone()).word("policy", found.point.system.policy.to_string());
    let row = match (found.point.ask, found.at_slo) {
        (Ask::Measure, _) => row.shown("load", of(&|f| load(f.load))),
        (Ask::FindLoad, None) => row.shown("load at SLO", "none"),
        (Ask::FindLoad, Some(at)) => row.shown("load at SLO", with_half(at.load, load)),
    };
    let row = row
        .shown("served", of(&|f| units::rate(f.served_rps)))
        .shown("p50", of(&|f| time(f.p50)))
        .shown("p99", of(&|f| with_half(f.p99, time)))
        .shown("SLO", units::span(found.point.slo));
    let share = |index: usize| of(&|f| percent(f.core_time.shares()[index]));
    (0..CoreTime::NAMES.len()).fold(row, |row, index| row.shown(CoreTime::NAMES[index], share(index)))
}

fn percent(share: f64) -> String {
    if share == 0.0 { "–".to_owned() } else { format!("{:.1} %", 100.0 * share) }
}
