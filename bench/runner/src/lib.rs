//! `cargo xtask bench`: runs the benchmarks one after another and prints one table.
//!
//! A benchmark is a [`Section`]: how to run it and its rows. For one of the program `nebula-bench`,
//! which prints rows as JSON lines, a line in [`sections`] is enough; any other is a file here.
//! Figures are ratios within one run, or instruction counts, since wall time on a shared machine
//! tells little by itself.
//!
//! It builds what it measures when it runs it, so that counting instructions builds no tonic.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a chore's output is what it is run for")]

pub mod browser;
mod callgrind;
mod decisions;
mod defaults;
mod demo;
mod instructions;
mod kv;
mod lab;
mod memcached;
mod nf;
mod page;
mod program;
mod replication;
mod table;

pub use instructions::gate;

use serde::{Deserialize, Serialize};

use nebula_shell::{Attempt, Failure, Shell, stdout_of};

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
trait Section {
    /// The word that selects it on the command line.
    fn name(&self) -> &'static str;

    /// What it shows, in one line.
    fn what(&self) -> &'static str;

    /// Measures.
    fn run(&self, shell: &Shell) -> Result<Vec<Row>, Failure>;

    /// A picture of its rows for docs/, if it has one.
    fn picture(&self, rows: &[Row]) -> Option<Picture> {
        let _ = rows;
        None
    }
}

/// A picture of what a section has measured.
struct Picture {
    /// Where it belongs, from the root.
    path: &'static str,
    title: &'static str,
    /// The chart, as Vega-Lite takes it.
    spec: serde_json::Value,
}

/// Every section, in the order they run.
fn sections() -> Vec<Box<dyn Section>> {
    let side_by_side = |name, what, features| Box::new(program::SideBySide { name, what, features });
    let demo = |name, what, busy_loops| Box::new(demo::Demo { name, what, busy_loops });
    vec![
        Box::new(instructions::Instructions),
        Box::new(decisions::Decisions),
        side_by_side("echo", "64 B echo through the whole runtime, beside a bare ring in the same run", ""),
        Box::new(kv::Kv),
        Box::new(defaults::Defaults),
        side_by_side(
            "hit-ratio",
            "the store as a cache, beside memcached with the same memory and the same requests",
            "",
        ),
        Box::new(memcached::Memcached),
        Box::new(lab::Lab),
        side_by_side("peers", "the same echo over TCP, iceoryx2 and tonic, beside Nebula in the same run", "peers"),
        side_by_side("typed", "generated services beside a handler of bytes written by hand, in the same run", "typed"),
        side_by_side("domains", "two messaging domains on one core, one of which is noisy, in the same run", ""),
        side_by_side(
            "scaling",
            "workers behind one engine beside the laboratory, and engines side by side; takes 4 to 16 cores",
            "lab",
        ),
        side_by_side("memory", "memory of a server with 1 client and with 1,000", ""),
        side_by_side("one-sided", "one-sided reads of 64 B beside RPCs and plain loads, in the same run", ""),
        side_by_side(
            "udp",
            "UDP: the echo beside bare sockets, tonic, tarpc and quinn; loss, overload, 10,000 clients",
            "peers",
        ),
        Box::new(replication::Replication),
        side_by_side("xdp", "the echo past the kernel's network stack, beside udp://, on a virtual cable (root)", ""),
        Box::new(nf::Nf),
        demo("demo-quiet", "ten runs of nebula demo: does it keep the SLO that it chooses?", 0),
        demo("demo-busy-1", "the same beside one busy loop", 1),
        demo("demo-busy-2", "the same beside two busy loops", 2),
        side_by_side(
            "trust",
            "overload by clients that ignore NACKs, and by processes: what is served, and an honest client's share",
            "",
        ),
    ]
}

/// One measured figure; a benchmark program prints it as one JSON line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    /// What was measured: "echo 64 B, 64 outstanding".
    pub(crate) what: String,
    pub(crate) value: f64,
    /// The unit of `value`: "M RPC/s", "ns", "instructions".
    pub(crate) unit: String,
    /// What it is compared with in the same run, and the ratio to that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) against: Option<Against>,
}

/// The baseline of a [`Row`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Against {
    /// "bare slot ring".
    pub(crate) what: String,
    /// The row's value divided by the baseline's.
    pub(crate) ratio: f64,
    /// The required ratio, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) bound: Option<Bound>,
}

/// The requirement on a ratio.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

impl Bound {
    fn holds(self, ratio: f64) -> bool {
        match self {
            Self::AtLeast(least) => ratio >= least,
            Self::AtMost(most) => ratio <= most,
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
        sections.iter().for_each(|section| println!("{:14}{}", section.name(), section.what()));
        return Ok(());
    }
    let (mut measured, mut pictures) = (Vec::new(), Vec::new());
    for section in sections {
        println!("== {}: {}", section.name(), section.what());
        let rows = section.run(shell)?;
        pictures.extend(section.picture(&rows));
        measured.push(Measured { section: section.name(), rows });
    }
    println!("{}", table::of(&measured));
    write(shell, &measured)?;
    if !args.bless {
        return Ok(());
    }
    page::bless(shell, &measured)?;
    let draw = |Picture { path, title, spec }: Picture| {
        let svg = browser::chart(shell, title, &spec)?;
        std::fs::write(shell.root().join(path), svg).attempt(format!("write {path}"))
    };
    pictures.into_iter().try_for_each(draw)
}

/// Keeps a server under `load` times its peak for `seconds`; fails if what it holds grows.
pub fn soak(shell: &Shell, seconds: u64, load: f64) -> Result<(), Failure> {
    let words = ["trust".to_owned(), "soak".to_owned(), seconds.to_string(), load.to_string()];
    let rows = program::parse(&stdout_of(program::run(shell, "").args(words))?)?;
    let has_grown = |row: &Row| {
        let against = row.against.as_ref();
        against.is_some_and(|against| against.bound.is_some_and(|bound| !bound.holds(against.ratio)))
    };
    let grown: Vec<_> = rows.iter().filter(|row| has_grown(row)).map(|row| row.what.clone()).collect();
    println!("{}", table::of(&[Measured { section: "soak", rows }]));
    if grown.is_empty() { Ok(()) } else { Err(Failure::new(format!("not flat: {}", grown.join("; ")))) }
}

fn chosen(words: &[String]) -> Result<Vec<Box<dyn Section>>, Failure> {
    let is_chosen = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word.as_str()));
    let chosen: Vec<_> = sections().into_iter().filter(|section| is_chosen(section.name())).collect();
    if chosen.is_empty() {
        let names: Vec<_> = sections().iter().map(|section| section.name()).collect();
        return Err(Failure::new(format!("no section `{}`; there are: {}", words.join(" "), names.join(", "))));
    }
    Ok(chosen)
}

fn write(shell: &Shell, measured: &[Measured]) -> Result<(), Failure> {
    let path = shell.root().join("target/bench.json");
    let json = serde_json::to_string_pretty(measured).attempt("write the rows as JSON")?;
    std::fs::create_dir_all(shell.root().join("target")).attempt("make the folder target")?;
    std::fs::write(&path, json).attempt(format!("write {}", path.display()))?;
    println!("written to target/bench.json");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_chooses_sections_by_part_of_their_name() {
        let Ok(chosen) = chosen(&["instr".into()]) else { panic!("there is such a section") };
        assert_eq!(chosen.iter().map(|section| section.name()).collect::<Vec<_>>(), ["instructions"]);
    }

    #[test]
    fn an_unknown_section_is_refused_with_the_names_there_are() {
        let Err(failure) = chosen(&["nothing".into()]) else { panic!("there is no such section") };
        assert!(failure.to_string().contains("there are: instructions"), "{failure}");
    }

    #[test]
    fn a_bound_holds_at_its_edge() {
        assert!(Bound::AtLeast(0.4).holds(0.4) && !Bound::AtLeast(0.4).holds(0.39));
        assert!(Bound::AtMost(1.5).holds(1.5) && !Bound::AtMost(1.5).holds(1.51));
    }
}
