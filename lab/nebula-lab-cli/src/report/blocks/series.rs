//! The results, grouped by design.

use nebula_sim::study::blocks::{Findings, Found};

/// In the order of their rates.
pub(super) struct Series<'a> {
    pub(super) name: &'a str,
    pub(super) points: Vec<&'a Found>,
}

/// Grouped by design, in the order of the command line. A design given twice is two series.
pub(super) fn series(findings: &Findings) -> Vec<Series<'_>> {
    let mut all: Vec<Series<'_>> = Vec::new();
    for found in &findings.found {
        let is_next = |series: &&mut Series<'_>| {
            series.name == found.design && !series.points.iter().any(|point| point.rate_rps == found.rate_rps)
        };
        match all.last_mut().filter(is_next) {
            Some(series) => series.points.push(found),
            None => all.push(Series { name: &found.design, points: vec![found] }),
        }
    }
    for series in &mut all {
        series.points.sort_by(|one, other| one.rate_rps.unwrap_or(0.0).total_cmp(&other.rate_rps.unwrap_or(0.0)));
    }
    all
}
