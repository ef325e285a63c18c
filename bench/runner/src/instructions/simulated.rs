//! Instructions of a simulated RPC, counted on the example `instructions` of `nebula-sim`: at the
//! queueing level policy by policy, and at the server level with all its blocks.
//!
//! The most that each may take is a tenth above what it took when the bound was set; for first
//! come, first served that is far below what the event-driven machines take, so that a run which
//! falls back to them is noticed. Under callgrind lanes use AVX2, where the machine has it.

use crate::callgrind;
use crate::{Against, Bound, Row};
use nebula_shell::{Failure, Shell, run};

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
    run(&mut shell.cargo(&["build", "--release", "-p", "nebula-sim", "--example", "instructions"]))?;
    let program = shell.target().join("release/examples/instructions");
    let row = |&(case, most): &(&str, f64)| {
        let total = |rpcs: u32| callgrind::instructions(shell, &program, &[case.to_owned(), rpcs.to_string()]);
        let (once, twice) = (total(RPCS)?, total(2 * RPCS)?);
        #[expect(clippy::cast_precision_loss, reason = "a count of instructions is far below 2^53")]
        let value = twice.saturating_sub(once) as f64 / f64::from(RPCS);
        let against = Against { what: "the most".into(), ratio: value / most, bound: Some(Bound::AtMost(1.0)) };
        let what = format!("simulated RPC: {case}");
        Ok(Row { what, value, unit: "instructions".into(), against: Some(against) })
    };
    MOST.iter().map(row).collect()
}
