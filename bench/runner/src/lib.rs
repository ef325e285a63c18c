//! `cargo xtask bench`: runs the benchmarks one after another and prints one table.
//!
//! A benchmark is a [`Section`]: how to run it and its rows. For one of the program `nebula-bench`,
//! which prints rows as JSON lines, a line in [`SECTIONS`] is enough; any other is a file here.
//! Figures are ratios within one run, or instruction counts, since wall time on a shared machine
//! tells little by itself.
//!
//! It builds what it measures when it runs it, so that counting instructions builds no tonic.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a chore's output is what it is run for")]

pub mod browser;
mod callgrind;
mod decisions;
mod demo;
mod instructions;
mod memcached;
mod page;
mod program;
mod row;
mod table;

pub use instructions::gate;

use serde::Serialize;

use crate::program::{Given, Program};
use crate::row::Row;
use nebula_shell::{Attempt, Failure, Shell, files};

/// Arguments of `cargo xtask bench`.
#[derive(clap::Args)]
pub struct Args {
    /// Run only the sections whose name contains one of these words.
    #[arg(value_name = "SECTION")]
    sections: Vec<String>,
    /// Print the sections and stop.
    #[arg(long)]
    list: bool,
    /// Write the rows into docs/data/benchmarks.tsv, in the places of those sections.
    #[arg(long)]
    bless: bool,
}

/// One benchmark.
struct Section {
    /// The word that selects it on the command line, and the program's argument.
    name: &'static str,
    /// Its question, in one line.
    what: &'static str,
    by: By,
    /// A picture of its rows for docs/, if it has one.
    picture: Option<fn(&[Row]) -> Picture>,
}

/// What measures.
enum By {
    /// The program `nebula-bench`.
    Program(Program),
    /// Runs of the demo beside so many threads that compute all the time.
    Demo { busy_loops: usize },
    /// A function here.
    Here(fn(&Shell) -> Result<Vec<Row>, Failure>),
}

/// A picture of what a section has measured.
struct Picture {
    /// Where it belongs, from the root.
    path: &'static str,
    title: &'static str,
    /// The chart, as Vega-Lite takes it.
    spec: serde_json::Value,
}

const fn section(name: &'static str, what: &'static str, by: By) -> Section {
    Section { name, what, by, picture: None }
}

/// A section of the program, built with these features beside none: what a section does not need is
/// not built.
const fn program(features: &'static str, given: Given) -> By {
    By::Program(Program { features, given })
}

/// Every section, in the order they run.
const SECTIONS: &[Section] = &[
    section(
        "instructions",
        "instructions an operation, by callgrind, the same for 16 and 10,000 clients, 16 and 64 cores; and a simulated RPC",
        By::Here(instructions::rows),
    ),
    section(
        "decisions",
        "what deciding about one RPC takes under every policy, 64 cores; the goal is 50 ns",
        By::Here(decisions::rows),
    ),
    section(
        "echo",
        "64 B echo through the whole runtime, beside a bare ring in the same run",
        program("", Given::Nothing),
    ),
    section(
        "kv",
        "the KV service over shm, beside the same store called directly on one core in the same run",
        program("", Given::Nebula(&[])),
    ),
    section(
        "defaults",
        "README's example, two processes and the KV service with nothing set, beside the best setting, on 1, 2 and 4 cores",
        program("", Given::Nebula(&[])),
    ),
    section(
        "user",
        "a program that is not ours, plain --release and all settings as they come, many starts, beside bare rings",
        By::Here(program::of_a_user),
    ),
    section(
        "hit-ratio",
        "the store as a cache, beside memcached with the same memory and the same requests",
        program("", Given::Nothing),
    ),
    Section {
        picture: Some(memcached::picture),
        ..section(
            "memcached",
            "GETs by memcached's text protocol over TCP, one server core, beside memcached in the same run; both under overload",
            program("", Given::Nebula(&[])),
        )
    },
    section(
        "lab",
        "simulated RPCs a second, beside a bare recursion and SimPy in the same run; 1,024 cores beside 16",
        program("lab", Given::Simpy),
    ),
    section(
        "peers",
        "the same echo over TCP, iceoryx2 and tonic, beside Nebula in the same run",
        program("peers", Given::Nothing),
    ),
    section(
        "typed",
        "generated services beside a handler of bytes written by hand, in the same run",
        program("typed", Given::Nothing),
    ),
    section(
        "domains",
        "two messaging domains on one core, one of which is noisy, in the same run",
        program("", Given::Nothing),
    ),
    section(
        "scaling",
        "workers behind one engine beside the laboratory, and engines side by side; takes 4 to 16 cores",
        program("lab", Given::Nothing),
    ),
    section(
        "awaited",
        "awaited calls beside calls that block a thread, and a hundred idle clients",
        program("", Given::Nothing),
    ),
    section(
        "pool",
        "RPCs that go to a pool's thread beside RPCs that run where they arrive",
        program("", Given::Nothing),
    ),
    section(
        "choices",
        "NACKs of four servers by two choices beside one server's, at the same load a server",
        program("", Given::Nothing),
    ),
    section("clients", "one client among many silent ones, and a server that sleeps", program("", Given::Nothing)),
    section("memory", "memory of a server with 1 client and with 1,000", program("", Given::Nothing)),
    section(
        "one-sided",
        "one-sided reads of 64 B beside RPCs and plain loads, in the same run",
        program("", Given::Nothing),
    ),
    section(
        "udp",
        "UDP: the echo beside bare sockets, tonic, tarpc and quinn; loss, overload, 10,000 clients",
        program("peers", Given::Nothing),
    ),
    section(
        "replication",
        "writes of three replicas, each synced by a majority, beside etcd on the same disk in the same run",
        program("replication", Given::Nebula(&["--features", "replicate"])),
    ),
    section(
        "xdp",
        "the echo past the kernel's network stack, beside udp://, on a virtual cable (root)",
        program("", Given::Nothing),
    ),
    section(
        "nf",
        "network functions beside the kernel's forwarding, and jbsq:2 beside rss under flows of which few send much (root)",
        program("", Given::Nebula(&["-p", "nebula-services", "-p", "nebula-lab-cli"])),
    ),
    section("demo-quiet", "ten runs of nebula demo: does it keep the SLO that it chooses?", By::Demo { busy_loops: 0 }),
    section("demo-busy-1", "the same beside one busy loop", By::Demo { busy_loops: 1 }),
    section("demo-busy-2", "the same beside two busy loops", By::Demo { busy_loops: 2 }),
    section(
        "trust",
        "overload by clients that ignore NACKs, and by processes: what is served, and an honest client's share",
        program("", Given::Nothing),
    ),
];

impl Section {
    fn rows(&self, shell: &Shell) -> Result<Vec<Row>, Failure> {
        match &self.by {
            By::Program(program) => program.rows(shell, &[self.name]),
            By::Demo { busy_loops } => demo::rows(shell, *busy_loops),
            By::Here(measure) => measure(shell),
        }
    }
}

/// What one section measured, as `target/bench.json` has it.
#[derive(Serialize)]
struct Measured {
    section: &'static str,
    rows: Vec<Row>,
}

/// Runs the chosen sections, one after another, and prints and keeps their rows.
pub fn run(shell: &Shell, args: &Args) -> Result<(), Failure> {
    let sections = chosen(&args.sections)?;
    if args.list {
        sections.iter().for_each(|section| println!("{:14}{}", section.name, section.what));
        return Ok(());
    }
    let (mut measured, mut pictures) = (Vec::new(), Vec::new());
    for section in sections {
        println!("== {}: {}", section.name, section.what);
        let rows = section.rows(shell)?;
        pictures.extend(section.picture.map(|picture| picture(&rows)));
        measured.push(Measured { section: section.name, rows });
    }
    println!("{}", table::of(&measured));
    write(shell, &measured)?;
    if !args.bless {
        return Ok(());
    }
    page::bless(shell, &measured)?;
    let draw = |Picture { path, title, spec }: Picture| {
        let svg = browser::chart(shell, title, &spec)?;
        files::write(shell.root().join(path), svg)
    };
    pictures.into_iter().try_for_each(draw)
}

/// Keeps a server under `load` times its peak for `seconds`; fails if what it holds grows.
pub fn soak(shell: &Shell, seconds: u64, load: f64) -> Result<(), Failure> {
    let program = Program { features: "", given: Given::Nothing };
    let rows = program.rows(shell, &["trust", "soak", &seconds.to_string(), &load.to_string()])?;
    let grown: Vec<_> = rows.iter().filter(|row| !row.is_kept()).map(|row| row.what.clone()).collect();
    println!("{}", table::of(&[Measured { section: "soak", rows }]));
    if grown.is_empty() { Ok(()) } else { Err(Failure::new(format!("not flat: {}", grown.join("; ")))) }
}

fn chosen(words: &[String]) -> Result<Vec<&'static Section>, Failure> {
    let is_chosen = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word.as_str()));
    let chosen: Vec<_> = SECTIONS.iter().filter(|section| is_chosen(section.name)).collect();
    if chosen.is_empty() {
        let names: Vec<_> = SECTIONS.iter().map(|section| section.name).collect();
        return Err(Failure::new(format!("no section `{}`; there are: {}", words.join(" "), names.join(", "))));
    }
    Ok(chosen)
}

fn write(shell: &Shell, measured: &[Measured]) -> Result<(), Failure> {
    let json = serde_json::to_string_pretty(measured).attempt("write the rows as JSON")?;
    files::write(shell.root().join("target/bench.json"), json)?;
    println!("written to target/bench.json");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_chooses_sections_by_part_of_their_name() {
        let Ok(chosen) = chosen(&["instr".into()]) else { panic!("there is such a section") };
        assert_eq!(chosen.iter().map(|section| section.name).collect::<Vec<_>>(), ["instructions"]);
    }

    #[test]
    fn an_unknown_section_is_refused_with_the_names_there_are() {
        let Err(failure) = chosen(&["nothing".into()]) else { panic!("there is no such section") };
        assert!(failure.to_string().contains("there are: instructions"), "{failure}");
    }
}
