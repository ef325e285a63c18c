//! The evaluation's entries in runs too short to mean anything, for tests of all results.

use super::super::{fig6a, fig6b, fig7, fig8, link, reassembler, scrubbing, table3, variants};
use super::bench::Bench;
use super::depth::Depth;
use crate::experiment::Effort as Runs;
use crate::reproduce::lab::Lab;
use crate::reproduce::reproduction::{ReproduceError, Reproduction};

const BRIEF: Depth = Depth { rpcs: 1_000, warmup: Some(1_000), replications: 2, width_krps: 5_000 };

/// Compares the entry `id` after brief runs; `None` for an entry outside the evaluation.
pub(in super::super) fn compare_briefly(id: &str, lab: &Lab<'_>) -> Option<Result<Reproduction, ReproduceError>> {
    let bench = Bench::to_depth(lab, BRIEF);
    Some(match id {
        "nebula/fig6a" => fig6a::compare(&bench),
        "nebula/fig6b" => fig6b::compare(&bench),
        "nebula/table3" => table3::compare(&bench),
        "nebula/fig7" => fig7::compare(&bench),
        "nebula/fig8" => fig8::compare(&bench),
        "nebula/link" => link::compare(lab, &brief_runs(lab)),
        "nebula/reassembler" => reassembler::compare(lab, &brief_runs(lab)),
        "nebula/scrubbing" => scrubbing::compare(lab, &brief_runs(lab)),
        "nebula/variants" => variants::compare(lab, &brief_runs(lab)),
        _ => return None,
    })
}

fn brief_runs(lab: &Lab<'_>) -> Runs {
    Runs { warmup: BRIEF.warmup, ..lab.runs(BRIEF.rpcs, BRIEF.replications) }
}
