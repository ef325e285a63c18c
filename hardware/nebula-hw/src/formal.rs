//! `nebula-hw formal`: proofs about single modules of the RTL, in a small geometry, with yosys and
//! ABC.
//!
//! A property is an `assert` in hardware/formal: in a harness that gives the module any inputs, or
//! in the module's contract. ABC proves it for runs of any length, by property-directed
//! reachability or by induction. Then the proof is repeated with a wrong change in the RTL, which
//! it must find: a property that always holds is worthless.

mod contract;
mod property;

use std::path::{Path, PathBuf};
use std::time::Instant;

use property::{Circuit, PROPERTIES, Property, Runs};

use crate::synth::{Sources, done};
use nebula_shell::{Attempt, Failure, Shell};

/// Arguments of `nebula-hw formal`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Prove the properties whose name begins so.
    #[arg(long, value_name = "PROPERTY")]
    only: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Holds,
    Broken,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Variant {
    AsItIs,
    Mutant,
}

/// Cycles in which induction must find the wrong change.
const MUTANT_CYCLES: u32 = 80;

pub(crate) fn run(shell: &Shell, args: &Args) -> Result<(), Failure> {
    if !shell.has("yosys", &["-V"]) || !shell.has("yosys-abc", &["-c", "quit"]) {
        println!("nebula-hw: nothing proved, because tools are missing: apt-get install yosys");
        return Ok(());
    }
    let is_wanted = |property: &&Property| args.only.as_ref().is_none_or(|begin| property.name.starts_with(begin));
    let wanted: Vec<&Property> = PROPERTIES.iter().filter(is_wanted).collect();
    if wanted.is_empty() {
        return Err(Failure::new("no property of that name"));
    }
    wanted.into_iter().try_for_each(|property| checked(shell, property))
}

fn checked(shell: &Shell, property: &Property) -> Result<(), Failure> {
    let begin = Instant::now();
    let sources = Sources::read(&shell.root().join("hardware/rtl"))?;
    let Property { name, module, mutant, .. } = property;
    if answer(shell, property, &sources, Variant::AsItIs)? == Answer::Broken {
        return Err(Failure::new(format!("{module}: {name} does not hold")));
    }
    let changed = sources.with(mutant.module, mutant.text, mutant.wrong)?;
    if answer(shell, property, &changed, Variant::Mutant)? == Answer::Holds {
        return Err(Failure::new(format!(
            "{module}: {name} holds with `{}` as well, so it says nothing",
            mutant.wrong
        )));
    }
    let seconds = begin.elapsed().as_secs_f64();
    println!("{module}: {name} holds for runs of any length, and fails with `{}` ({seconds:.0} s)", mutant.wrong);
    Ok(())
}

fn answer(shell: &Shell, property: &Property, sources: &Sources, variant: Variant) -> Result<Answer, Failure> {
    let folder = shell.target().join("formal").join(format!("{}-{variant:?}", property.name));
    std::fs::create_dir_all(&folder).attempt("make a folder for proofs")?;
    let circuit = folder.join("circuit.aig");
    let mut yosys = shell.command("yosys");
    yosys.args(["-q", "-c", "hardware/formal/circuit.tcl"]).env("PROPERTY", property.name).env("CIRCUIT", &circuit);
    let made = made(shell, property, sources, &folder)?;
    yosys.env("RTL", made.files.join(" ")).env("TOP", made.top);
    done(&mut yosys, &folder.join("yosys.log"))?;
    let log = folder.join("abc.log");
    let engine = match (property.runs, variant) {
        (Runs::OfAnyLength, _) => "scleanup; pdr".to_owned(),
        (Runs::ByInduction, Variant::AsItIs) => "scleanup; bmc3 -F 2; ind -F 2".to_owned(),
        (Runs::ByInduction, Variant::Mutant) => format!("scleanup; scorr; bmc3 -F {MUTANT_CYCLES}"),
    };
    let mut abc = shell.command("yosys-abc");
    done(abc.args(["-c", &format!("read_aiger {}; fold; orpos; strash; {engine}", circuit.display())]), &log)?;
    let said = std::fs::read_to_string(&log).attempt(format!("read {}", log.display()))?;
    said_by_abc(&said)
        .ok_or_else(|| Failure::new(format!("{}: ABC gave no answer, see {}", property.name, log.display())))
}

struct Made {
    files: Vec<String>,
    top: String,
}

fn made(shell: &Shell, property: &Property, sources: &Sources, folder: &Path) -> Result<Made, Failure> {
    let module = property.module;
    match property.circuit {
        Circuit::Harness => {
            let top = format!("{module}_check");
            let mut files = sources.written(module, folder)?;
            files.push(path_of(shell, &format!("{top}.sv")).to_string_lossy().into_owned());
            Ok(Made { files, top })
        }
        Circuit::Contract { parameters, replaced, any } => {
            let text_of = |name: &str| sources.text(name).ok_or_else(|| Failure::new(format!("no module {name}")));
            let within = beside(shell, &format!("{module}_within.sv"))?;
            let small = contract::sized(text_of(module)?, parameters)?;
            let top = contract::proved(&small, &beside(shell, &format!("{module}_contract.sv"))?, &within)?;
            let mut all = sources.replacing(module, top);
            for name in any {
                all = all.replacing(name, contract::replaced(text_of(name)?, "")?);
            }
            for name in replaced {
                let contract = beside(shell, &format!("{name}_contract.sv"))?;
                all = all.replacing(name, contract::replaced(text_of(name)?, &contract)?);
            }
            Ok(Made { files: all.written(module, folder)?, top: module.to_owned() })
        }
    }
}

/// A file of hardware/formal, or an empty text.
fn beside(shell: &Shell, name: &str) -> Result<String, Failure> {
    let path = path_of(shell, name);
    if !path.exists() {
        return Ok(String::new());
    }
    std::fs::read_to_string(&path).attempt(format!("read {}", path.display()))
}

fn path_of(shell: &Shell, name: &str) -> PathBuf {
    Path::new(shell.root()).join("hardware/formal").join(name)
}

/// The answer in ABC's output. A failed step of an induction is no answer: no run need lead there.
fn said_by_abc(text: &str) -> Option<Answer> {
    if text.contains("was asserted in frame") {
        return Some(Answer::Broken);
    }
    let is_proved = text.contains("Property proved") || text.contains("No output asserted in");
    let is_step_open = text.contains("Networks are UNDECIDED") || text.contains("Networks are NOT EQUIVALENT");
    (is_proved && !is_step_open).then_some(Answer::Holds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn answers_are_read_from_what_abc_prints() {
        assert_eq!(said_by_abc("Property proved.  Time = 0.03 sec"), Some(Answer::Holds));
        assert_eq!(said_by_abc("No output asserted in 12 frames. Resource limit reached"), Some(Answer::Holds));
        assert_eq!(said_by_abc("Output 0 of miter was asserted in frame 7."), Some(Answer::Broken));
        let step = "No output asserted in 2 frames. Time\n";
        assert_eq!(said_by_abc(&format!("{step}Networks are equivalent.")), Some(Answer::Holds));
        assert_eq!(said_by_abc(&format!("{step}Networks are UNDECIDED.")), None);
        assert_eq!(said_by_abc("out of memory"), None);
    }

    #[test]
    fn every_mutant_changes_the_rtl_that_is_there() {
        let shell = Shell::at_root().expect("the root is there");
        let sources = Sources::read(&shell.root().join("hardware/rtl")).expect("the RTL is read");
        for Property { name, mutant, .. } in PROPERTIES {
            assert!(sources.with(mutant.module, mutant.text, mutant.wrong).is_ok(), "{name}");
        }
    }

    #[test]
    fn every_property_is_an_assertion_of_its_harness_or_its_contract() {
        let shell = Shell::at_root().expect("the root is there");
        for Property { name, module, circuit, .. } in PROPERTIES {
            let (file, said) = match circuit {
                Circuit::Harness => (format!("{module}_check.sv"), format!("`ifdef {name}\n")),
                Circuit::Contract { .. } => (format!("{module}_contract.sv"), "GIVES (".to_owned()),
            };
            let text = beside(&shell, &file).expect("it is read");
            assert!(text.contains(&said), "{name}");
        }
    }

    #[test]
    fn the_table_of_proofs_names_every_module_that_is_proved_and_no_other() {
        let shell = Shell::at_root().expect("the root is there");
        let path = shell.root().join("docs/data/hardware-proofs.tsv");
        let table = std::fs::read_to_string(path).expect("the table is read");
        let listed: BTreeSet<_> = table.lines().skip(1).filter_map(|row| row.split('\t').next()).collect();
        let proved: BTreeSet<_> = PROPERTIES.iter().map(|property| property.module).collect();
        assert_eq!(listed, proved);
    }
}
