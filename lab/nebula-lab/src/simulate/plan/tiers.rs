//! The operating points of tiers of servers: one at each load.

use std::path::Path;

use nebula_nic::Span;
use nebula_sim::study::{Ask, Point};
use nebula_sim::{Load, Tiers};

use super::{LOWEST, loads};
use crate::Failure;
use crate::simulate::question::Question;
use crate::words::{Slo, shipped_or_file};

pub(super) fn points(args: &Question, text: &str) -> Result<Vec<Point>, Failure> {
    let (_, tiers) = shipped_or_file("--tiers", text, Tiers::shipped(), Tiers::source, Tiers::parse)?;
    let slo = slo(args.slo, &tiers);
    let point = |load: Load, ask| {
        let name = Path::new(text).file_stem().map_or(text.to_owned(), |stem| stem.to_string_lossy().into_owned());
        Point { name, system: tiers.system().clone(), load, slo, ask, effort: args.effort.effort() }
    };
    let open = |load| Load::open(tiers.service().clone(), load).arrivals(args.arrivals.clone());
    if let Some(profile) = &args.queueing.load_over_time {
        return Ok(vec![point(open(LOWEST).over_time(profile.clone()), Ask::Measure)]);
    }
    if args.find_slo {
        return Ok(vec![point(open(LOWEST), Ask::FindLoad)]);
    }
    Ok(loads(args).iter().map(|&load| point(open(load), Ask::Measure)).collect())
}

/// A multiple is of the mean service times of all tiers together.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "both factors are positive; `as` saturates"
)]
fn slo(slo: Slo, tiers: &Tiers) -> Span {
    match slo {
        Slo::Within(span) => span,
        Slo::Times(times) => Span::from_ps((tiers.service_mean().as_ps() as f64 * times).round() as u64),
    }
}
