//! `cargo xtask formal`: proofs about single modules of the RTL, of a small geometry, with yosys and ABC.
//!
//! A property is an `assert` of hardware/formal, in a harness that gives the module any inputs at all. ABC proves it for runs of any length
//! (property-directed reachability), or for all runs of so many cycles. Then the same is done with a wrong change in the RTL, which has to be
//! found: a property that holds of anything says nothing.

use std::path::{Path, PathBuf};

use crate::shell::{Attempt, Failure, Shell};
use crate::synth::{Sources, done};

/// Arguments of `cargo xtask formal`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Prove the properties whose name begins so.
    #[arg(long, value_name = "PROPERTY")]
    only: Option<String>,
}

/// How a property is proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Runs {
    OfAnyLength,
    OfCycles(u32),
}

/// A wrong change, which has to be found.
struct Mutant {
    module: &'static str,
    text: &'static str,
    wrong: &'static str,
}

/// A property of a module.
struct Property {
    /// The name of the `ifdef` around its `assert`.
    name: &'static str,
    /// The module that it is about; its harness is hardware/formal/MODULE_check.sv.
    module: &'static str,
    runs: Runs,
    mutant: Mutant,
}

const KEEPS_CREDIT: Mutant =
    Mutant { module: "jbsq", text: "taken[i] = level_q[i] & ~take;", wrong: "taken[i] = level_q[i];" };
/// The bit vectors are cleared in the first cycles; then there is an input a cycle.
const BUFFER_RUNS: Runs = Runs::OfCycles(9);

const PROPERTIES: [Property; 4] = [
    Property { name: "AT_MOST_N", module: "jbsq", runs: Runs::OfAnyLength, mutant: KEEPS_CREDIT },
    Property { name: "NO_GRANT_WITHOUT_CREDIT", module: "jbsq", runs: Runs::OfAnyLength, mutant: KEEPS_CREDIT },
    Property {
        name: "A_CORE_WITH_CREDIT_IS_FOUND",
        module: "jbsq",
        runs: Runs::OfAnyLength,
        mutant: Mutant { module: "jbsq", text: "level_d[i] |= full & back;", wrong: "level_d[i] |= '0;" },
    },
    Property {
        name: "LIVE_RANGES_NEVER_OVERLAP",
        module: "recv_buffer",
        runs: BUFFER_RUNS,
        mutant: Mutant {
            module: "recv_buffer",
            text: "wire is_at_head = !spare[AddrW+1];",
            wrong: "wire is_at_head = !spare[AddrW+1] || spare == '1;",
        },
    },
];

/// What ABC found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Holds,
    Broken,
}

pub(crate) fn run(shell: &Shell, args: &Args) -> Result<(), Failure> {
    if !shell.has("yosys", &["-V"]) || !shell.has("yosys-abc", &["-c", "quit"]) {
        println!("xtask: nothing proved, because tools are missing: apt-get install yosys");
        return Ok(());
    }
    let is_wanted = |property: &&Property| args.only.as_ref().is_none_or(|begin| property.name.starts_with(begin));
    let wanted: Vec<&Property> = PROPERTIES.iter().filter(is_wanted).collect();
    if wanted.is_empty() {
        return Err(Failure::new("no property of that name"));
    }
    wanted.into_iter().try_for_each(|property| checked(shell, property))
}

/// Proves a property, and finds its mutant.
fn checked(shell: &Shell, property: &Property) -> Result<(), Failure> {
    let sources = Sources::read(&shell.root().join("hardware/rtl"))?;
    let Property { name, module, runs, mutant } = property;
    if answer(shell, property, &sources, "as-it-is")? == Answer::Broken {
        return Err(Failure::new(format!("{module}: {name} does not hold")));
    }
    let changed = sources.with(mutant.module, mutant.text, mutant.wrong)?;
    if answer(shell, property, &changed, "mutant")? == Answer::Holds {
        return Err(Failure::new(format!(
            "{module}: {name} holds with `{}` as well, so it says nothing",
            mutant.wrong
        )));
    }
    let runs = match runs {
        Runs::OfAnyLength => "runs of any length".to_owned(),
        Runs::OfCycles(cycles) => format!("all runs of {cycles} cycles"),
    };
    println!("{module}: {name} holds for {runs}, and fails with `{}`", mutant.wrong);
    Ok(())
}

fn answer(shell: &Shell, property: &Property, sources: &Sources, variant: &str) -> Result<Answer, Failure> {
    let folder = shell.target().join("formal").join(format!("{}-{variant}", property.name));
    std::fs::create_dir_all(&folder).attempt("make a folder for proofs")?;
    let mut files = sources.written(property.module, &folder)?;
    let harness = format!("{}_check", property.module);
    files.push(path_of(shell, &format!("{harness}.sv")).to_string_lossy().into_owned());
    let circuit = folder.join("circuit.aig");
    let mut yosys = shell.command("yosys");
    yosys.args(["-q", "-c", "hardware/formal/circuit.tcl"]).env("RTL", files.join(" ")).env("TOP", harness);
    done(yosys.env("PROPERTY", property.name).env("CIRCUIT", &circuit), &folder.join("yosys.log"))?;
    let log = folder.join("abc.log");
    let engine = match property.runs {
        Runs::OfAnyLength => "pdr".to_owned(),
        Runs::OfCycles(cycles) => format!("scorr; bmc3 -F {cycles}"),
    };
    let mut abc = shell.command("yosys-abc");
    done(abc.args(["-c", &format!("read_aiger {}; fold; strash; {engine}", circuit.display())]), &log)?;
    let said = std::fs::read_to_string(&log).attempt(format!("read {}", log.display()))?;
    said_by_abc(&said)
        .ok_or_else(|| Failure::new(format!("{}: ABC gave no answer, see {}", property.name, log.display())))
}

fn path_of(shell: &Shell, name: &str) -> PathBuf {
    Path::new(shell.root()).join("hardware/formal").join(name)
}

/// The answer in what ABC prints.
fn said_by_abc(text: &str) -> Option<Answer> {
    if text.contains("was asserted in frame") {
        return Some(Answer::Broken);
    }
    let is_proved = text.contains("Property proved") || text.contains("No output asserted in");
    is_proved.then_some(Answer::Holds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_from_what_abc_prints() {
        assert_eq!(said_by_abc("Property proved.  Time = 0.03 sec"), Some(Answer::Holds));
        assert_eq!(said_by_abc("No output asserted in 12 frames. Resource limit reached"), Some(Answer::Holds));
        assert_eq!(said_by_abc("Output 0 of miter was asserted in frame 7."), Some(Answer::Broken));
        assert_eq!(said_by_abc("out of memory"), None);
    }

    #[test]
    fn every_mutant_changes_the_rtl_that_is_there() {
        let shell = Shell::at_root().expect("the root is there");
        let sources = Sources::read(&shell.root().join("hardware/rtl")).expect("the RTL is read");
        for Property { name, mutant, .. } in &PROPERTIES {
            assert!(sources.with(mutant.module, mutant.text, mutant.wrong).is_ok(), "{name}");
        }
    }

    #[test]
    fn every_property_is_an_assertion_of_its_harness() {
        let shell = Shell::at_root().expect("the root is there");
        for Property { name, module, .. } in &PROPERTIES {
            let harness = std::fs::read_to_string(path_of(&shell, &format!("{module}_check.sv")));
            assert!(harness.is_ok_and(|text| text.contains(&format!("`ifdef {name}\n"))), "{name}");
        }
    }
}
