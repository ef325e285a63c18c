//! Instructions of RPCs through the whole runtime, client and server together: of echoes, with and
//! without samples for the status page, of one-sided reads, and of a generated service beside a
//! handler written by hand.

use super::runtime_program;
use crate::callgrind;
use crate::row::{Bound, Row};
use nebula_shell::{Failure, Shell};

/// A program that exchanges RPCs, and how few instructions it must do with.
struct Exchange {
    /// Of the program, and of the module whose `exchange` is counted.
    name: &'static str,
    what: &'static str,
    /// Its arguments after the number of RPCs, and how many at a time.
    args: &'static [&'static str],
    /// RPCs at a time, and the most instructions that one may take.
    most: &'static [(u32, f64)],
}

const ECHOES: [Exchange; 2] = [
    Exchange {
        name: "echo_instructions",
        what: "echo of 48 B over shared memory",
        args: &[],
        // 64 are more than a server serves in a turn.
        most: &[(64, 275.0), (16, 300.0), (1, 1_030.0)],
    },
    Exchange {
        name: "udp_instructions",
        what: "echo of 64 B over UDP without the kernel",
        args: &[],
        most: &[(32, 2_450.0), (1, 6_000.0)],
    },
];

/// Calls from several places of a program, with slots and rings as they come.
const SEVERAL_PLACES: Exchange = Exchange {
    name: "sites_instructions",
    what: "echo of 48 B over shared memory from three places of a program, on defaults",
    args: &[],
    most: &[(16, 310.0), (1, 1_120.0)],
};

/// One-sided reads in the place of RPCs.
const READS: Exchange = Exchange {
    name: "udp_instructions",
    what: "one-sided read of 64 B over UDP without the kernel",
    args: &["1", "1"],
    most: &[(32, 2_300.0), (1, 5_550.0)],
};

/// The most that an echo may take with samples, as a share of one without.
const SAMPLED_MOST: f64 = 1.02;

/// The most instructions that an RPC may take: of a handler of bytes written by hand, and of a
/// generated service in each encoding.
const BYTES_MOST: f64 = 335.0;
const LINE_MOST: f64 = 400.0;
const PROTOBUF_MOST: f64 = 880.0;

/// One row for each transport and number of RPCs at a time, then those of samples and services.
pub(super) fn rows(shell: &Shell, rpcs: u32) -> Result<Vec<Row>, Failure> {
    let plain = ECHOES
        .iter()
        .chain([&SEVERAL_PLACES, &READS])
        .flat_map(|exchange| exchange.most.iter().map(move |&most| (exchange, most)));
    let plain = plain.map(|(exchange, most)| exchange.row(shell, most, rpcs));
    let sampled = ECHOES.iter().flat_map(|echo| echo.most.iter().map(move |&(batch, _)| (echo, batch)));
    let sampled = sampled.map(|(echo, batch)| echo.sampled(shell, batch, rpcs));
    let mut rows: Vec<Row> = plain.chain(sampled).collect::<Result<_, _>>()?;
    rows.extend(typed(shell, rpcs)?);
    Ok(rows)
}

impl Exchange {
    /// Instructions of an RPC.
    fn row(&self, shell: &Shell, (batch, most): (u32, f64), rpcs: u32) -> Result<Row, Failure> {
        let what = format!("{}, client and server, {batch} at a time", self.what);
        Ok(Row::plain(what, self.count(shell, batch, rpcs, self.args)?, "instructions").at_most(most))
    }

    /// The same of a server that samples RPCs for its status page, beside one that does not.
    fn sampled(&self, shell: &Shell, batch: u32, rpcs: u32) -> Result<Row, Failure> {
        let [with, without] = ["1", "0"].map(|samples| self.count(shell, batch, rpcs, &[samples]));
        let (with, without) = (with?, without?);
        let what = format!("{}, {batch} at a time, with samples for the status page", self.what);
        Ok(Row::plain(what, with, "instructions").against("without", with / without, Bound::AtMost(SAMPLED_MOST)))
    }

    fn count(&self, shell: &Shell, batch: u32, rpcs: u32, args: &[&str]) -> Result<f64, Failure> {
        let numbers = [rpcs, batch].map(|number| number.to_string());
        let args: Vec<&str> = numbers.iter().map(String::as_str).chain(args.iter().copied()).collect();
        count(shell, self.name, &args, rpcs)
    }
}

/// Instructions of an RPC of a generated service, and of one written by hand.
fn typed(shell: &Shell, rpcs: u32) -> Result<[Row; 3], Failure> {
    let row = |how: &str, service: &str, most| {
        let what = format!("RPC of {service} over shared memory, client and server");
        let value = count(shell, "typed_instructions", &[how, &rpcs.to_string()], rpcs)?;
        Ok::<_, Failure>(Row::plain(what, value, "instructions").at_most(most))
    };
    Ok([
        row("bytes", "a handler of bytes written by hand", BYTES_MOST)?,
        row("line", "a generated service, line encoding,", LINE_MOST)?,
        row("protobuf", "a generated service, protobuf,", PROTOBUF_MOST)?,
    ])
}

/// Instructions of one of `rpcs` RPCs: those within the `exchange` of a program.
fn count(shell: &Shell, name: &str, args: &[&str], rpcs: u32) -> Result<f64, Failure> {
    let program = runtime_program(shell, name)?;
    let total = callgrind::instructions_within(shell, &program, args, &format!("*{name}*exchange*"))?;
    // A name that matches nothing counts nothing, and would keep every promise.
    if total < u64::from(rpcs) {
        let what = format!("{total} instructions in {rpcs} RPCs ({}): `exchange` was not found", args.join(" "));
        return Err(Failure::new(what));
    }
    Ok(callgrind::share(total, rpcs))
}
