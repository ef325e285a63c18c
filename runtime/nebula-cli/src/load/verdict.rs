//! Whether the load ran as requested: every RPC was sent, and answered or refused.

use nebula_nic::Span;

use crate::drive::{LoadOutcome, LoadPlan};
use nebula_ui::output::Failure;

/// Fails if RPCs got no answer or were never sent. Refusals are answers, and late RPCs count as
/// sent.
pub(super) fn check(plan: &LoadPlan, outcome: &LoadOutcome) -> Result<(), Failure> {
    let counts = &outcome.report.counts;
    let mut lacks = Vec::new();
    if counts.lost > 0 {
        lacks.push(format!(
            "{} of {} RPCs got no answer, within 1 s after the last was due",
            counts.lost, counts.offered
        ));
    }
    if counts.never_sent > 0 {
        // With less patience they would have been refused before the load ended.
        let why = if plan.patience.is_some_and(|patience| patience >= Span::from_secs(1)) {
            "they waited for room for as long as --patience lets them"
        } else {
            "the load generator was too slow: use a lower --rate, more --clients, or --pin"
        };
        lacks.push(format!("{} of {} RPCs were never sent: {why}", counts.never_sent, counts.offered));
    }
    if lacks.is_empty() { Ok(()) } else { Err(Failure::fault(lacks.join("; "))) }
}
