//! The cost of deciding about one RPC under every policy: nanoseconds in a tight loop, and
//! instructions counted by callgrind.
//!
//! Both come from the example `decisions` of `nebula-nic`, which lists what it can run. Nanoseconds
//! are compared with the goal but depend on the machine; instructions are the same everywhere.

use std::path::Path;

use crate::callgrind;
use crate::row::{Bound, Row};
use nebula_shell::{Attempt, Failure, Shell, run, stdout_of};

/// The goal for one decision.
const GOAL_NS: f64 = 50.0;
/// Cores of the server.
const CORES: &str = "64";
/// RPCs that instructions are counted over.
const COUNTED: u32 = 20_000;

/// Two rows for each of what the example lists.
pub(crate) fn rows(shell: &Shell) -> Result<Vec<Row>, Failure> {
    run(&mut shell.cargo(&["build", "--profile", "dist", "-p", "nebula-nic", "--example", "decisions"]))?;
    let program = shell.target().join("dist/examples/decisions");
    let listed = stdout_of(shell.command(&program).arg("list"))?;
    let rows: Result<Vec<_>, _> = listed.lines().map(|line| of_line(shell, &program, line)).collect();
    Ok(rows?.concat())
}

/// The two rows of a listed line: its time, and its instructions if callgrind is installed.
fn of_line(shell: &Shell, program: &Path, line: &str) -> Result<Vec<Row>, Failure> {
    let Subject { index, what, each } =
        subject(line).ok_or_else(|| Failure::new(format!("cannot read the listed line `{line}`")))?;
    let said = stdout_of(shell.command(program).args(["time", index, CORES]))?;
    let ns: f64 = said.trim().parse().attempt(format!("read the time `{said}`"))?;
    let counted =
        callgrind::each(COUNTED, |n| callgrind::instructions(shell, program, &["count", index, CORES, &n.to_string()]));
    let timed = timed(&what, ns, each);
    Ok(match counted {
        Ok(instructions) => vec![timed, Row::plain(what, instructions, &format!("instructions a {each}"))],
        Err(failure) => {
            println!("{what}: no instructions: {failure}");
            vec![timed]
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
    let row = Row::plain(what, ns, &format!("ns a {each}"));
    match each {
        "RPC" => row.against(format!("the goal of {GOAL_NS} ns"), ns / GOAL_NS, Bound::AtMost(1.0)),
        _ => row,
    }
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
        assert!(timed("rss", 50.0, "RPC").is_kept() && !timed("rss", 50.1, "RPC").is_kept());
        assert_eq!(timed("a manager's", 60.0, "decision").against, None);
    }
}
