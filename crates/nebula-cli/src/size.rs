//! `nebula size`: how large receive buffer and tables have to be.

use nebula_nic::Sizing;

use crate::output::{self, Failure, Format, Row, units};

const EXAMPLES: &str = "Examples:
  nebula size                                              the papers' server: 64 cores at E[Nq] = 54
  nebula size --cores 16 --load 0.9,0.95,0.98 --rpc-bytes 576
  nebula size --cores 2 --load 0.9 --format json

The buffer holds ten times the RPCs that wait on average (Erlang C, E[Nq]), whatever the number of clients.";

/// Size receive buffer, bitvector and reassembler for a number of cores and a load
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Cores that serve
    #[arg(long, value_delimiter = ',', default_value = "64")]
    cores: Vec<u32>,
    /// Share of the cores' time that RPCs take, above 0 and below 1
    #[arg(long, value_delimiter = ',', default_value = "0.984375")]
    load: Vec<f64>,
    /// Bytes of a mean request
    #[arg(long, default_value_t = 1024)]
    rpc_bytes: u32,
    /// Form of the results
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Prints a row for each number of cores and each load.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let pairs = args.cores.iter().flat_map(|&cores| args.load.iter().map(move |&load| (cores, load)));
    let rows: Vec<Row> = pairs.map(|(cores, load)| row(cores, load, args.rpc_bytes)).collect::<Result<_, _>>()?;
    output::print(args.format, &rows)
}

fn row(cores: u32, load: f64, rpc_bytes: u32) -> Result<Row, Failure> {
    let sizing = Sizing::new(cores, load, rpc_bytes).map_err(Failure::bad_input)?;
    Ok(Row::new()
        .field("cores", cores)
        .field("load", load)
        .field("queue_depth_mean", sizing.queue_depth_mean)
        .field("buffer_slots", sizing.buffer_slots)
        .field("buffer_bytes", sizing.buffer_bytes)
        .field("bitvector_bytes", sizing.bitvector_bytes)
        .field("reassembler_entries", sizing.reassembler_entries)
        .shown("cores", cores.to_string())
        .shown("load", load.to_string())
        .shown("E[Nq]", format!("{:.2}", sizing.queue_depth_mean))
        .shown("buffer slots", sizing.buffer_slots.to_string())
        .shown("buffer", units::bytes(sizing.buffer_bytes))
        .shown("bitvector", units::bytes(sizing.bitvector_bytes))
        .shown("reassembler entries", sizing.reassembler_entries.to_string()))
}
