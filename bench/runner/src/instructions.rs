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
//! An [`exchange`] through the whole runtime is counted too, client and server together, and an RPC
//! of the [simulator](simulated): there the gate is a number.

mod exchange;
mod simulated;

use std::path::{Path, PathBuf};

use crate::callgrind;
use crate::row::{Bound, Row};
use nebula_shell::{Failure, Shell, run};

/// The operations that are counted: the example's name of each, and ours.
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

/// Clients, and the most lines that an RPC of theirs may take the server. Where clients walk round
/// their rings it is one more.
const LINES: [(u32, f64); 2] = [(64, 0.1), (1024, 1.3)];

/// Rounds of a count and of a longer one: their difference leaves out what comes first.
const LINES_ROUNDS: [u32; 2] = [20, 100];

/// The rows of the benchmark, from enough operations that rare branches (a wrap, a table's long
/// probe) are in the mean.
pub(crate) fn rows(shell: &Shell) -> Result<Vec<Row>, Failure> {
    counted(shell, 100_000, 32_000)
}

/// Fails when an operation takes more than it may, or its counts differ too much.
///
/// # Errors
///
/// Then, or where nothing can be counted.
pub fn gate(shell: &Shell) -> Result<(), Failure> {
    let rows = counted(shell, 20_000, 8_000)?;
    for row in &rows {
        println!("{}: {:.1} {}", row.what, row.value, row.unit);
    }
    match rows.iter().find(|row| !row.is_kept()) {
        Some(row) => {
            Err(Failure::new(format!("{}: more than it may be, or than at another scale (see above)", row.what)))
        }
        None => Ok(()),
    }
}

/// Counts over so many operations and RPCs.
fn counted(shell: &Shell, operations: u32, rpcs: u32) -> Result<Vec<Row>, Failure> {
    let parts = [of_scales(shell, operations)?, exchange::rows(shell, rpcs)?, lines(shell)?, simulated::rows(shell)?];
    Ok(parts.concat())
}

/// One row for each operation and scale.
fn of_scales(shell: &Shell, n: u32) -> Result<Vec<Row>, Failure> {
    let program = example(shell, "nebula-nic")?;
    let mut rows = Vec::new();
    for &(operation, what) in OPERATIONS {
        let counts = SCALES.map(|(clients, cores)| {
            let [clients, cores] = [clients, cores].map(|count| count.to_string());
            callgrind::each(n, |n| {
                callgrind::instructions(shell, &program, &[operation, &clients, &cores, &n.to_string()])
            })
        });
        rows.extend(compared(what, &counts.into_iter().collect::<Result<Vec<f64>, Failure>>()?));
    }
    Ok(rows)
}

/// The rows of one operation from its counts by scale; the last one carries the comparison.
fn compared(what: &str, counts: &[f64]) -> Vec<Row> {
    let (least, most) =
        counts.iter().fold((f64::MAX, f64::MIN), |(least, most), &count| (least.min(count), most.max(count)));
    let of_scale = |(&(clients, cores), &count): (&(u32, u32), &f64)| {
        Row::plain(format!("{what}, {clients} clients, {cores} cores"), count, "instructions")
    };
    let greatest = Row::plain(format!("{what}, greatest"), most, "instructions");
    let greatest = greatest.against("least of the four", most / least, Bound::AtMost(RATIO_MAX));
    SCALES.iter().zip(counts).map(of_scale).chain([greatest]).collect()
}

/// Lines that a server fetches from memory for an RPC, with one RPC of each client outstanding.
/// It touches as much memory as the RPCs outstanding have, and not as much as clients could have:
/// rings that were walked in a circle would come from memory line by line.
fn lines(shell: &Shell) -> Result<Vec<Row>, Failure> {
    let program = runtime_program(shell, "server_lines")?;
    LINES.iter().map(|&(clients, most)| lines_of(shell, &program, clients, most)).collect()
}

fn lines_of(shell: &Shell, program: &Path, clients: u32, most: f64) -> Result<Row, Failure> {
    let total = |rounds: u32| {
        let args = [&*clients.to_string(), &*rounds.to_string()];
        callgrind::lines_within(shell, program, &args, "*server_lines*serve_all*")
    };
    let [few, many] = LINES_ROUNDS;
    let (first, all) = (total(few)?, total(many)?);
    if all == 0 {
        return Err(Failure::new("not one line was counted, not even the first time: `serve_all` was not found"));
    }
    let each = callgrind::share(all.saturating_sub(first), clients * (many - few));
    let what = format!("lines from beyond 8 MiB of cache an RPC, {clients} clients with one RPC outstanding each");
    Ok(Row::plain(what, each, "lines").at_most(most))
}

/// A program of the crate `typed-tests`, as cargo builds a user's program by default. All of them
/// are built at once.
fn runtime_program(shell: &Shell, name: &str) -> Result<PathBuf, Failure> {
    run(&mut shell.cargo(&["build", "--profile", "user", "-p", "typed-tests", "--bins"]))?;
    Ok(shell.target().join("user").join(name))
}

/// The example `instructions` of a crate.
fn example(shell: &Shell, package: &str) -> Result<PathBuf, Failure> {
    run(&mut shell.cargo(&["build", "--release", "-p", package, "--example", "instructions"]))?;
    Ok(shell.target().join("release/examples/instructions"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_that_agree_keep_the_promise() {
        let rows = compared("alloc", &[100.0, 101.0, 100.5, 102.0]);
        assert_eq!(rows.len(), SCALES.len() + 1);
        assert!(rows.iter().all(Row::is_kept));
    }

    #[test]
    fn a_count_that_grows_with_scale_breaks_it() {
        assert_eq!(compared("alloc", &[100.0, 100.0, 100.0, 102.1]).iter().filter(|row| !row.is_kept()).count(), 1);
    }
}
