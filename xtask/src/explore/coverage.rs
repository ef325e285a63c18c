//! `cargo xtask explore coverage`: the share of the laboratory's intervals that hold the exact
//! value, over many runs.
//!
//! The example `coverage` of `nebula-sim` simulates systems whose latency is known exactly and
//! prints a row for each. The default of 1,000 runs a row takes one night on two cores.

use crate::shell::{Failure, Shell, files, run as run_command, stdout_of};

/// Arguments of `cargo xtask explore coverage`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Runs of each system at each load.
    #[arg(long, default_value_t = 1_000)]
    runs: u32,
    /// Write the rows into docs/data/coverage.tsv.
    #[arg(long)]
    bless: bool,
}

const DATA: &str = "docs/data/coverage.tsv";

/// The share of intervals that must hold the exact value: 95 %, with the spread of 1,000 runs.
const HELD: std::ops::RangeInclusive<f64> = 0.93..=0.97;

pub(crate) fn run(shell: &Shell, args: &Args) -> Result<(), Failure> {
    run_command(&mut shell.cargo(&["build", "--release", "-p", "nebula-sim", "--example", "coverage"]))?;
    let program = shell.target().join("release/examples/coverage");
    let rows = stdout_of(shell.command(&program).arg(args.runs.to_string()))?;
    print!("{rows}");
    if args.bless {
        files::write(shell.root().join(DATA), &rows)?;
    }
    let outside: Vec<&str> = rows.lines().filter(|row| !holds(row)).collect();
    match outside.is_empty() {
        true => Ok(()),
        false => Err(Failure::new(format!("outside of {HELD:?}, and not unsettled:\n{}", outside.join("\n")))),
    }
}

/// Whether the shares of a row are in that range, or the row has none.
fn holds(row: &str) -> bool {
    let cells = row.split('\t').skip(6).take(2);
    cells.filter_map(|cell| cell.parse::<f64>().ok()).all(|share| HELD.contains(&share))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_judged_by_its_shares_alone() {
        let row = |shares: &str| format!("rss, 4 cores\t0.5\t2.000\t9.21\t1000\t0.00\t{shares}\t0.009");
        assert!(holds("system\tload\tmean_us\tp99_us\truns\tunsettled\tmean_held\tp99_held\tp99_half"));
        assert!(holds(&row("0.951\t0.940")) && holds(&row("\t")));
        assert!(!holds(&row("0.951\t0.920")) && !holds(&row("0.980\t0.950")));
    }

    #[test]
    fn the_rows_in_the_tree_hold() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(DATA);
        let rows = std::fs::read_to_string(path).expect("the rows");
        assert!(rows.lines().count() > 30 && rows.lines().all(holds), "{rows}");
    }
}
