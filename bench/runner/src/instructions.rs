//! Instructions per operation of the NIC's state machines, and the check that they do not grow with
//! scale.
//!
//! Counted by callgrind on the example `instructions` of `nebula-nic`, which does an operation N
//! times after a set-up: (Ir(2N) − Ir(N)) / N excludes the set-up and the start of the program.
//! Each operation is counted for few and many clients and cores; the gate is that the four counts
//! agree.
//!
//! Built as a user builds: without optimization across crates.
//!
//! An echo through the whole runtime is counted too, client and server together ([`echo`]), and an
//! RPC of the queueing level ([`simulated`]): there the gate is a number. The echo is counted with
//! and without [samples](metrics) for the status page. An RPC of a generated service ([`typed`]) is
//! compared with one written by hand.

mod metrics;
mod simulated;
mod typed;

use std::path::{Path, PathBuf};

use super::{Against, Bound, Row, Section};
use crate::callgrind;
use nebula_shell::{Failure, Shell, run};

/// What is counted: the example's name for it, and ours.
const OPERATIONS: &[(&str, &str)] = &[
    ("recv-buffer", "receive buffer: alloc and free"),
    ("reassembler", "reassembler: a 4-packet RPC"),
    ("dispatch", "dispatch under jbsq:2: decision and free"),
    ("backend", "whole Backend: a one-packet RPC"),
];

/// Clients and cores that an operation is counted for.
const SCALES: [(u32, u32); 4] = [(16, 16), (16, 64), (10_000, 16), (10_000, 64)];

/// The greatest ratio allowed between the highest and the lowest count.
const RATIO_MAX: f64 = 1.02;

/// A program that echoes, and how few instructions it must do with.
struct Echo {
    /// Of the program, and of the module whose `exchange` is counted.
    name: &'static str,
    what: &'static str,
    /// What it is told beside how many RPCs, and how many at a time.
    args: &'static [&'static str],
    /// RPCs at a time, and the most instructions that one may take.
    most: [(u32, f64); 2],
}

const ECHOES: [Echo; 2] = [
    Echo {
        name: "echo_instructions",
        what: "echo of 48 B over shared memory",
        args: &[],
        most: [(16, 400.0), (1, 1_050.0)],
    },
    Echo {
        name: "udp_instructions",
        what: "echo of 64 B over UDP without the kernel",
        args: &[],
        most: [(32, 2_600.0), (1, 6_700.0)],
    },
];

/// One-sided reads in the place of RPCs.
const READS: Echo = Echo {
    name: "udp_instructions",
    what: "one-sided read of 64 B over UDP without the kernel",
    args: &["1", "1"],
    most: [(32, 2_450.0), (1, 6_250.0)],
};

/// Clients, and the most lines that an RPC of theirs may take the server. Where clients walk round
/// their rings it is one more.
const LINES: [(u32, f64); 2] = [(64, 0.1), (1024, 1.3)];

/// Rounds of a count and of a longer one: their difference leaves out what comes first.
const LINES_ROUNDS: [u32; 2] = [20, 100];

/// The benchmark: enough operations that rare branches (a wrap, a table's long probe) are in the
/// mean.
pub(super) struct Instructions;

impl Section for Instructions {
    fn name(&self) -> &'static str {
        "instructions"
    }

    fn what(&self) -> &'static str {
        "instructions an operation, by callgrind, the same for 16 and 10,000 clients, 16 and 64 cores; and a simulated RPC"
    }

    fn run(&self, shell: &Shell) -> Result<Vec<Row>, Failure> {
        Ok([
            rows(shell, 100_000)?,
            echo(shell, 32_000)?,
            metrics::rows(shell, 32_000)?,
            typed::rows(shell, 32_000)?,
            lines(shell)?,
            simulated::rows(shell)?,
        ]
        .concat())
    }
}

/// Fails when an operation's counts differ too much.
pub fn gate(shell: &Shell) -> Result<(), Failure> {
    let rows = [
        rows(shell, 20_000)?,
        echo(shell, 8_000)?,
        metrics::rows(shell, 8_000)?,
        typed::rows(shell, 8_000)?,
        lines(shell)?,
        simulated::rows(shell)?,
    ]
    .concat();
    for row in &rows {
        println!("{}: {:.1} {}", row.what, row.value, row.unit);
    }
    match rows.iter().find(|row| !is_kept(row)) {
        Some(row) => {
            Err(Failure::new(format!("{}: more than it may be, or than at another scale (see above)", row.what)))
        }
        None => Ok(()),
    }
}

fn is_kept(row: &Row) -> bool {
    row.against.as_ref().is_none_or(|against| against.bound.is_none_or(|bound| bound.holds(against.ratio)))
}

/// One row for each operation and scale.
fn rows(shell: &Shell, n: u32) -> Result<Vec<Row>, Failure> {
    let program = build(shell)?;
    let mut rows = Vec::new();
    for &(operation, what) in OPERATIONS {
        let counts = SCALES.iter().map(|&scale| count(shell, &program, operation, scale, n));
        rows.extend(compared(what, &counts.collect::<Result<Vec<f64>, Failure>>()?));
    }
    Ok(rows)
}

/// Instructions of an echo, `rpcs` times, over each transport and at each number of RPCs at a time.
fn echo(shell: &Shell, rpcs: u32) -> Result<Vec<Row>, Failure> {
    let each = ECHOES.iter().chain([&READS]).flat_map(|echo| echo.most.map(|most| (echo, most)));
    each.map(|(echo, most)| echo_of(shell, echo, most, rpcs)).collect()
}

fn echo_of(shell: &Shell, echo: &Echo, (batch, most): (u32, f64), rpcs: u32) -> Result<Row, Failure> {
    let name = echo.name;
    let program = runtime_program(shell, name)?;
    let mut args = vec![rpcs.to_string(), batch.to_string()];
    args.extend(echo.args.iter().map(|&arg| arg.to_owned()));
    let total = callgrind::instructions_within(shell, &program, &args, &format!("*{name}*exchange*"))?;
    // A name that matches nothing counts nothing, and would keep every promise.
    if total < u64::from(rpcs) {
        return Err(Failure::new(format!("{total} instructions counted in {rpcs} RPCs: `exchange` was not found")));
    }
    #[expect(clippy::cast_precision_loss, reason = "a count of instructions is far below 2^53")]
    let value = total as f64 / f64::from(rpcs);
    let what = format!("{}, client and server, {batch} at a time", echo.what);
    let against = Against { what: "the most".into(), ratio: value / most, bound: Some(Bound::AtMost(1.0)) };
    Ok(Row { what, value, unit: "instructions".into(), against: Some(against) })
}

/// Lines that a server fetches from memory for an RPC, with one RPC of each client outstanding.
/// What it touches follows what is outstanding and not what clients could have outstanding: rings
/// that were walked in a circle would come from memory line by line.
fn lines(shell: &Shell) -> Result<Vec<Row>, Failure> {
    let program = runtime_program(shell, "server_lines")?;
    LINES.iter().map(|&(clients, most)| lines_of(shell, &program, clients, most)).collect()
}

fn lines_of(shell: &Shell, program: &Path, clients: u32, most: f64) -> Result<Row, Failure> {
    let total = |rounds: u32| {
        let args = [clients.to_string(), rounds.to_string()];
        callgrind::lines_within(shell, program, &args, "*server_lines*serve_all*")
    };
    let [few, many] = LINES_ROUNDS;
    let (first, all) = (total(few)?, total(many)?);
    if all == 0 {
        return Err(Failure::new("not one line was counted, not even the first time: `serve_all` was not found"));
    }
    #[expect(clippy::cast_precision_loss, reason = "a count of lines is far below 2^53")]
    let value = all.saturating_sub(first) as f64 / f64::from(clients * (many - few));
    let what = format!("lines from beyond 8 MiB of cache an RPC, {clients} clients with one RPC outstanding each");
    let against = Against { what: "the most".into(), ratio: value / most, bound: Some(Bound::AtMost(1.0)) };
    Ok(Row { what, value, unit: "lines".into(), against: Some(against) })
}

/// A program of the crate `typed-tests`. All of them are built at once.
fn runtime_program(shell: &Shell, name: &str) -> Result<PathBuf, Failure> {
    run(&mut shell.cargo(&["build", "--release", "-p", "typed-tests", "--bins"]))?;
    Ok(shell.target().join("release").join(name))
}

/// The rows of one operation from its counts by scale; the last one carries the comparison.
fn compared(what: &str, counts: &[f64]) -> Vec<Row> {
    let (least, most) =
        counts.iter().fold((f64::MAX, f64::MIN), |(least, most), &count| (least.min(count), most.max(count)));
    let against =
        Against { what: "least of the four".into(), ratio: most / least, bound: Some(Bound::AtMost(RATIO_MAX)) };
    let mut rows: Vec<Row> = SCALES
        .iter()
        .zip(counts)
        .map(|(&(clients, cores), &value)| {
            let what = format!("{what}, {clients} clients, {cores} cores");
            Row { what, value, unit: "instructions".into(), against: None }
        })
        .collect();
    rows.push(Row {
        what: format!("{what}, greatest"),
        value: most,
        unit: "instructions".into(),
        against: Some(against),
    });
    rows
}

/// Instructions of one operation, free of set-up.
fn count(shell: &Shell, program: &Path, operation: &str, (clients, cores): (u32, u32), n: u32) -> Result<f64, Failure> {
    let total = |n: u32| {
        let args = [operation.to_owned(), clients.to_string(), cores.to_string(), n.to_string()];
        callgrind::instructions(shell, program, &args)
    };
    let (once, twice) = (total(n)?, total(2 * n)?);
    #[expect(clippy::cast_precision_loss, reason = "a count of instructions is far below 2^53")]
    let difference = twice.saturating_sub(once) as f64;
    Ok(difference / f64::from(n))
}

fn build(shell: &Shell) -> Result<PathBuf, Failure> {
    run(&mut shell.cargo(&["build", "--release", "-p", "nebula-nic", "--example", "instructions"]))?;
    Ok(shell.target().join("release/examples/instructions"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_that_agree_keep_the_promise() {
        let rows = compared("alloc", &[100.0, 101.0, 100.5, 102.0]);
        assert_eq!(rows.len(), SCALES.len() + 1);
        assert!(rows.iter().all(is_kept));
    }

    #[test]
    fn a_count_that_grows_with_scale_breaks_it() {
        assert_eq!(compared("alloc", &[100.0, 100.0, 100.0, 102.1]).iter().filter(|row| !is_kept(row)).count(), 1);
    }
}
