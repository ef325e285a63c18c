//! `cargo xtask coverage`: how often the laboratory's intervals hold the exact value, counted over many runs.
//!
//! The example `coverage` of `nebula-sim` simulates systems whose latency is known exactly and prints a row for each. With the default of
//! 1,000 runs a row that takes an hour or so on two cores: something for a night.

use crate::shell::{Attempt, Failure, Shell, run as run_command, stdout_of};

/// Arguments of `cargo xtask coverage`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Runs of each system at each load.
    #[arg(long, default_value_t = 1_000)]
    runs: u32,
    /// Write the table into docs/COVERAGE.md.
    #[arg(long)]
    bless: bool,
}

const PAGE: &str = "docs/COVERAGE.md";
const BEGIN: &str = "<!-- coverage-table:begin -->";
const END: &str = "<!-- coverage-table:end -->";

/// The share of runs whose interval is to hold the exact value: 95 %, and what chance adds in 1,000 runs.
const HELD: std::ops::RangeInclusive<f64> = 0.93..=0.97;

pub(crate) fn run(shell: &Shell, args: &Args) -> Result<(), Failure> {
    run_command(&mut shell.cargo(&["build", "--release", "-p", "nebula-sim", "--example", "coverage"]))?;
    let program = shell.target().join("release/examples/coverage");
    let table = stdout_of(shell.command(&program).arg(args.runs.to_string()))?;
    print!("{table}");
    if args.bless {
        let path = shell.root().join(PAGE);
        let page = std::fs::read_to_string(&path).attempt(format!("read {PAGE}"))?;
        let page =
            with_table(&page, &table).ok_or_else(|| Failure::new(format!("{PAGE} has no lines {BEGIN} and {END}")))?;
        std::fs::write(&path, page).attempt(format!("write {PAGE}"))?;
    }
    let outside: Vec<&str> = table.lines().filter(|row| !holds(row)).collect();
    match outside.is_empty() {
        true => Ok(()),
        false => Err(Failure::new(format!("outside of {HELD:?}, and not unsettled:\n{}", outside.join("\n")))),
    }
}

fn with_table(page: &str, table: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n\n{}\n\n{END}{after}", table.trim_end()))
}

/// Whether the shares of a row are those of intervals that hold, or the row has none.
fn holds(row: &str) -> bool {
    let cells = row.split('|').map(str::trim).skip(7).take(2);
    cells.filter_map(|cell| cell.parse::<f64>().ok()).all(|share| HELD.contains(&share))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "| system | load | mean | p99 | runs | unsettled | mean held | p99 held | p99 ± |\n|---|--:|";

    #[test]
    fn a_row_is_judged_by_its_shares_alone() {
        assert!(TABLE.lines().all(holds));
        assert!(holds("| M/M/1 | 0.5 | 2.0 | 9.2 | 1000 | 0 % | 0.951 | 0.940 | 1 % |"));
        assert!(holds("| M/M/1 | 0.999 | 1000.0 | 4605.2 | 20 | 100 % | – | – | – |"));
        assert!(!holds("| M/M/1 | 0.5 | 2.0 | 9.2 | 1000 | 0 % | 0.951 | 0.920 | 1 % |"));
    }

    #[test]
    fn the_table_takes_the_place_of_the_former_one() {
        let page = format!("# C\n{BEGIN}\nold\n{END}\nThen.\n");
        assert_eq!(with_table(&page, TABLE), Some(format!("# C\n{BEGIN}\n\n{TABLE}\n\n{END}\nThen.\n")));
        assert_eq!(with_table("# C\n", TABLE), None);
    }
}
