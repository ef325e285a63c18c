//! `nebula explain`: compares the decisions of the runtime, the simulator and the hardware about
//! the same inputs.

use std::path::{Path, PathBuf};

use nebula_files::{Unsealed, unseal};
use nebula_nic::decision::{Beside, decide_again, read_text};
use nebula_nic::{Backend, BackendConfig, Decision, LogLine};

use crate::flags::Format;
use nebula_ui::output::{self, Failure, Row};

const EXAMPLES: &str = "Examples:
  nebula serve kv --inline --decision-log kv.log                 record what the NIC decides
  nebula explain kv.log --line 7                                 one input, and what is decided about it
  nebula explain kv.log --rpc 3.17                               all inputs and decisions about an RPC
  nebula explain kv.log --differing                              nothing, if all agree
  nebula explain kv.log --hardware kv.rtl --line 7               beside the hardware, and its cycles

runtime is what the log says. simulator is what the state machine decides that the simulator drives, given the same inputs. hardware is what
the RTL has decided: cargo hw rtl --replay kv.log --write kv.rtl records it, which needs Verilator.";

/// Show what the runtime, the simulator and the hardware decide about the same inputs
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Log of a server, from nebula serve --decision-log
    log: PathBuf,
    /// What the hardware has decided about the inputs of that log
    #[arg(long, value_name = "FILE")]
    hardware: Option<PathBuf>,
    /// Only this line of the log, counted from 1 without its first
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    line: Option<u32>,
    /// Only what is about this RPC: its sender and number, such as 3.17
    #[arg(long, value_name = "SNID.TID")]
    rpc: Option<String>,
    /// Only lines on which they differ
    #[arg(long)]
    differing: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

struct Hardware {
    line: LogLine,
    /// `None` if the file does not say.
    cycles: Option<u64>,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let (config, lines) = log(&args.log)?;
    let hardware = args.hardware.as_deref().map(|file| of_hardware(file, &lines)).transpose()?;
    let mut simulator =
        Backend::try_new(config).map_err(|error| Failure::bad_input(format!("{}: {error}", args.log.display())))?;
    let mut beside = Beside::new(&config);
    let mut rows = Vec::new();
    for (index, logged) in lines.iter().enumerate() {
        let simulated = decide_again(&mut simulator, &mut beside, logged);
        let made = hardware.as_ref().map(|lines| &lines[index]);
        let agree = simulated == logged.decisions && made.is_none_or(|made| made.line.decisions == logged.decisions);
        let is_wanted = args.line.is_none_or(|line| line as usize == index + 1)
            && args.rpc.as_ref().is_none_or(|rpc| is_about(logged, rpc))
            && !(args.differing && agree);
        if is_wanted {
            rows.push(row(index + 1, logged, (&simulated, made), agree));
        }
    }
    if args.line.is_some_and(|line| line as usize > lines.len()) {
        return Err(Failure::bad_input(format!("--line: {} has {} lines", args.log.display(), lines.len())));
    }
    output::print(args.format, &rows)
}

fn log(file: &Path) -> Result<(BackendConfig, Vec<LogLine>), Failure> {
    read_text(&text(file)?).map_err(|error| Failure::bad_input(format!("{}: {error}", file.display())))
}

/// A log that a server has written to its end says whether it was changed.
fn text(file: &Path) -> Result<String, Failure> {
    let text = read(file)?;
    match unseal("", &text) {
        Unsealed::Damaged => Err(Failure::bad_input(format!("{}: the log is not as it was written", file.display()))),
        Unsealed::Whole(_) | Unsealed::Open => Ok(text),
    }
}

fn read(file: &Path) -> Result<String, Failure> {
    nebula_files::text(file).map_err(|error| Failure::bad_input(format!("cannot read {}: {error}", file.display())))
}

fn of_hardware(file: &Path, lines: &[LogLine]) -> Result<Vec<Hardware>, Failure> {
    let (_, decided) = log(file)?;
    let is_same = |(logged, decided): (&LogLine, &LogLine)| (logged.at, logged.input) == (decided.at, decided.input);
    if decided.len() != lines.len() || !lines.iter().zip(&decided).all(is_same) {
        return Err(Failure::bad_input(format!("{} is of other inputs than the log", file.display())));
    }
    // The cycles are in the comments of the lines.
    let text = text(file)?;
    let cycles = text.lines().filter(|line| line.contains("->")).map(|line| {
        let comment = line.split_once('#')?.1;
        comment.trim().strip_prefix("cycles=")?.parse().ok()
    });
    Ok(decided.into_iter().zip(cycles).map(|(line, cycles)| Hardware { line, cycles }).collect())
}

fn is_about(line: &LogLine, rpc: &str) -> bool {
    let named = format!("rpc={rpc}");
    line.to_string().split([' ', ';']).any(|word| word == rpc || word == named)
}

fn row(number: usize, logged: &LogLine, (simulated, made): (&[Decision], Option<&Hardware>), agree: bool) -> Row {
    let (runtime, simulator) = (words(&logged.decisions), words(simulated));
    let hardware = made.map(|made| words(&made.line.decisions));
    let cycles = made.and_then(|made| made.cycles);
    let shown = |cycles: Option<u64>| cycles.map_or_else(|| "-".to_owned(), |cycles| cycles.to_string());
    Row::new()
        .field("line", number as u64)
        .field("at_ps", logged.at.as_ps())
        .field("input", logged.input.to_string())
        .field("runtime", runtime.clone())
        .field("simulator", simulator.clone())
        .field("hardware", hardware.clone())
        .field("cycles", cycles)
        .field("agree", agree)
        .shown("line", number.to_string())
        .word("input", logged.input.to_string())
        .word("runtime", runtime)
        .word("simulator", simulator)
        .word("hardware", hardware.unwrap_or_else(|| "-".to_owned()))
        .shown("cycles", shown(cycles))
        .word("agree", if agree { "yes" } else { "NO" })
}

fn words(decisions: &[Decision]) -> String {
    if decisions.is_empty() {
        return "-".to_owned();
    }
    decisions.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
