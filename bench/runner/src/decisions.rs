//! The cost of deciding about one RPC under every policy: nanoseconds in a tight loop, and
//! instructions counted by callgrind.
//!
//! Both come from the example `decisions` of `nebula-nic`, which lists what it can run. Nanoseconds
//! are compared with the goal but depend on the machine; instructions are the same everywhere.

use std::path::{Path, PathBuf};

use super::{Against, Bound, Row, Section};
use crate::callgrind;
use nebula_shell::{Attempt, Failure, Shell, run, stdout_of};

/// The goal for one decision.
const GOAL_NS: f64 = 50.0;
/// Cores of the server.
const CORES: &str = "64";
/// RPCs that instructions are counted over.
const COUNTED: u32 = 20_000;

/// The benchmark.
pub(super) struct Decisions;

impl Section for Decisions {
    fn name(&self) -> &'static str {
        "decisions"
    }

    fn what(&self) -> &'static str {
        "what deciding about one RPC takes under every policy, 64 cores; the goal is 50 ns"
    }

    fn run(&self, shell: &Shell) -> Result<Vec<Row>, Failure> {
        let program = build(shell)?;
        let listed = stdout_of(shell.command(&program).arg("list"))?;
        let mut rows = Vec::new();
        for line in listed.lines() {
            rows.extend(of_line(shell, &program, line)?);
        }
        Ok(rows)
    }
}

/// The two rows of a listed line: its time, and its instructions if callgrind is installed.
fn of_line(shell: &Shell, program: &Path, line: &str) -> Result<Vec<Row>, Failure> {
    let Subject { index, what, each } =
        subject(line).ok_or_else(|| Failure::new(format!("cannot read the listed line `{line}`")))?;
    let said = stdout_of(shell.command(program).args(["time", index, CORES]))?;
    let ns: f64 = said.trim().parse().attempt(format!("read the time `{said}`"))?;
    let total = |n: u32| {
        let args = ["count".to_owned(), index.to_owned(), CORES.to_owned(), n.to_string()];
        callgrind::instructions(shell, program, &args)
    };
    let counted = total(COUNTED).and_then(|once| Ok(total(2 * COUNTED)?.saturating_sub(once)));
    Ok(match counted {
        Ok(instructions) => vec![timed(&what, ns, each), count(&what, instructions, each)],
        Err(failure) => {
            println!("{what}: no instructions: {failure}");
            vec![timed(&what, ns, each)]
        }
    })
}

/// What a listed line says: `INDEX<tab>POLICY<tab>WHAT<tab>EACH`.
#[derive(Debug, PartialEq)]
struct Subject<'a> {
    index: &'a str,
    what: String,
    /// The unit of a figure: an RPC, or a decision that is made now and then.
    each: &'a str,
}

fn subject(line: &str) -> Option<Subject<'_>> {
    let mut words = line.split('\t');
    let (index, policy, what, each) = (words.next()?, words.next()?, words.next()?, words.next()?);
    Some(Subject { index, what: format!("{policy}: {what}"), each })
}

/// The goal applies to decisions made for every RPC.
fn timed(what: &str, ns: f64, each: &str) -> Row {
    let against =
        Against { what: format!("the goal of {GOAL_NS} ns"), ratio: ns / GOAL_NS, bound: Some(Bound::AtMost(1.0)) };
    let against = (each == "RPC").then_some(against);
    Row { what: what.to_owned(), value: ns, unit: format!("ns a {each}"), against }
}

fn count(what: &str, instructions: u64, each: &str) -> Row {
    #[expect(clippy::cast_precision_loss, reason = "a count of instructions is far below 2^53")]
    let value = instructions as f64 / f64::from(COUNTED);
    Row { what: what.to_owned(), value, unit: format!("instructions a {each}"), against: None }
}

fn build(shell: &Shell) -> Result<PathBuf, Failure> {
    run(&mut shell.cargo(&["build", "--profile", "dist", "-p", "nebula-nic", "--example", "decisions"]))?;
    Ok(shell.target().join("dist/examples/decisions"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listed_line_has_a_number_a_policy_and_what_is_in_the_figure() {
        let read = Subject { index: "3", what: "key-hash: whole back end".to_owned(), each: "RPC" };
        assert_eq!(subject("3\tkey-hash\twhole back end\tRPC"), Some(read));
        assert_eq!(subject("3 key-hash"), None);
    }

    #[test]
    fn a_time_beyond_the_goal_breaks_it() {
        let is_kept =
            |ns| timed("rss", ns, "RPC").against.is_some_and(|a| a.bound.is_some_and(|bound| bound.holds(a.ratio)));
        assert!(is_kept(50.0) && !is_kept(50.1));
        assert_eq!(timed("a manager's", 60.0, "decision").against, None);
    }

    #[test]
    fn instructions_are_those_of_one_rpc() {
        assert_eq!(count("rss", 2_000_000, "RPC").value.to_bits(), 100.0_f64.to_bits());
    }
}
