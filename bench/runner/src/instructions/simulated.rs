//! Instructions of a simulated RPC, counted on the example `instructions` of `nebula-sim`: at the
//! queueing level policy by policy, and at the server level with all its blocks.
//!
//! The most that each may take is a tenth above what it took when the bound was set; for first
//! come, first served that is far below what the event-driven machines take, so that a run which
//! falls back to them is noticed. Under callgrind lanes use AVX2, where the machine has it.

use super::example;
use crate::callgrind;
use crate::row::Row;
use nebula_shell::{Failure, Shell};

/// Cases of the example, and the most instructions an RPC.
const MOST: &[(&str, f64)] = &[
    ("single-queue/64", 344.0),
    ("jbsq:2/64", 388.0),
    ("jbsq:2/64/bound", 421.0),
    ("rss/64", 364.0),
    ("random/64", 367.0),
    ("round-robin/64", 341.0),
    ("single-queue/64/lanes", 97.0),
    ("single-queue/64/fixed/lanes", 40.0),
    ("single-queue/64/bimodal/lanes", 84.0),
    ("work-stealing/64/mix", 2140.0),
    ("preemptive:5us/64/mix", 1460.0),
    ("darc/64/mix", 1460.0),
    ("altocumulus:4/64/mix", 1330.0),
    ("server/nebula", 17_400.0),
    ("server/rpcvalet", 21_900.0),
];

/// RPCs of a count; another one is of twice as many, and the difference is free of set-up.
const RPCS: u32 = 20_000;

/// One row for each case.
pub(super) fn rows(shell: &Shell) -> Result<Vec<Row>, Failure> {
    let program = example(shell, "nebula-sim")?;
    let row = |&(case, most): &(&str, f64)| {
        let count = |rpcs: u32| callgrind::instructions(shell, &program, &[case, &rpcs.to_string()]);
        let each = callgrind::each(RPCS, count)?;
        Ok(Row::plain(format!("simulated RPC: {case}"), each, "instructions").at_most(most))
    };
    MOST.iter().map(row).collect()
}
