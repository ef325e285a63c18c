//! `nebula-hw rtl --mutants`: does the lockstep notice each way to break the RTL?
//!
//! A line of `hardware/mutants.txt` names a file, a text that occurs in it once, and its
//! replacement. Each mutant is compiled for the smallest geometry, and the lockstep must find a
//! difference.

use std::fs;
use std::path::{Path, PathBuf};

use nebula_shell::{Attempt, Failure, Shell};

use super::target;

const LIST: &str = "hardware/mutants.txt";
const MODELS: &str = "hardware/lockstep/models.txt";
const SMALLEST: &str = "backend16";

#[derive(Debug, PartialEq, Eq)]
struct Mutant {
    file: String,
    from: String,
    to: String,
}

pub(super) fn run(shell: &Shell, every: usize) -> Result<(), Failure> {
    let text = fs::read_to_string(shell.root().join(LIST)).attempt(format!("read {LIST}"))?;
    let mutants = parse(&text)?;
    let copy = target(shell).join("mutant-rtl");
    let mut missed = Vec::new();
    let chosen = mutants.iter().step_by(every);
    let count = chosen.len();
    for (number, mutant) in chosen.enumerate() {
        let found = is_found(shell, &copy, mutant)?;
        println!(
            "rtl: mutant {} of {count}, {}: `{}` to `{}`: {found}",
            number + 1,
            mutant.file,
            mutant.from,
            mutant.to
        );
        if found == MISSED {
            missed.push(format!("{}: `{}` to `{}`", mutant.file, mutant.from, mutant.to));
        }
    }
    if missed.is_empty() {
        println!("rtl: the lockstep has found all {count} mutants");
        return Ok(());
    }
    Err(Failure::new(format!("the lockstep misses {} of {count} mutants: {}", missed.len(), missed.join("; "))))
}

const MISSED: &str = "MISSED";

/// The first difference that the lockstep finds, in a line: of the module alone, or else of the
/// smallest back end.
fn is_found(shell: &Shell, copy: &Path, mutant: &Mutant) -> Result<String, Failure> {
    let rtl = shell.root().join("hardware/rtl");
    write_copy(&rtl, copy, mutant)?;
    let models = fs::read_to_string(shell.root().join(MODELS)).attempt(format!("read {MODELS}"))?;
    let text = |top: &str| fs::read_to_string(rtl.join(format!("{top}.sv"))).unwrap_or_default();
    let alone = models_of(&models, &mutant.file, text);
    if !alone.is_empty() {
        let found = check(shell, copy, mutant, &alone.join(","))?;
        if found != MISSED {
            return Ok(format!("{found} ({} alone)", alone.join(", ")));
        }
    }
    check(shell, copy, mutant, SMALLEST)
}

fn models_of(models: &str, file: &str, text: impl Fn(&str) -> String) -> Vec<String> {
    let module = file.trim_end_matches(".sv");
    let words = models.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let mut words = line.split_whitespace();
        words.next().zip(words.next())
    });
    let is_of = |top: &str| {
        let instance = |line: &str| line.trim_start().starts_with(&format!("{module} "));
        top == module || text(top).lines().any(instance)
    };
    words.filter(|(_, top)| *top != "pipeline" && is_of(top)).map(|(name, _)| name.to_owned()).collect()
}

fn check(shell: &Shell, copy: &Path, mutant: &Mutant, models: &str) -> Result<String, Failure> {
    let manifest = "hardware/Cargo.toml";
    let mut build = shell.cargo(&["build", "--release", "--locked", "--quiet", "--manifest-path", manifest]);
    build.args(["-p", "nebula-rtl"]);
    let mutants = target(shell).join("mutants");
    build.env("RTL_DIR", copy).env("RTL_MODELS", models).env("CARGO_TARGET_DIR", &mutants);
    if !build.status().attempt("start cargo")?.success() {
        return Err(Failure::new(format!("{} does not compile with `{}`", mutant.file, mutant.to)));
    }
    let program: PathBuf = mutants.join("release/nebula-rtl");
    let output = shell.command(&program).args(["check", "600000"]).output().attempt("start the lockstep")?;
    if output.status.success() {
        return Ok(MISSED.to_owned());
    }
    let printed = [output.stdout, output.stderr].concat();
    let printed = String::from_utf8_lossy(&printed).into_owned();
    let is_difference = |line: &&str| ["differs", "runs fail", "panicked"].iter().any(|word| line.contains(word));
    match printed.lines().find(is_difference) {
        Some(first) => Ok(format!("found: {}", first.trim())),
        None => Err(Failure::new(format!("the lockstep ends without a difference: {}", printed.trim()))),
    }
}

fn write_copy(from: &Path, copy: &Path, mutant: &Mutant) -> Result<(), Failure> {
    fs::create_dir_all(copy).attempt("make a folder for the mutant")?;
    for entry in fs::read_dir(from).attempt("read hardware/rtl")? {
        let entry = entry.attempt("read hardware/rtl")?;
        let mut text = fs::read_to_string(entry.path()).attempt("read a module")?;
        if entry.file_name().to_string_lossy() == mutant.file {
            text = broken(&text, mutant)?;
        }
        let to = copy.join(entry.file_name());
        // Unchanged files keep their time, so that they are not built again.
        if fs::read_to_string(&to).is_ok_and(|last| last == text) {
            continue;
        }
        fs::write(&to, text).attempt("write the mutant")?;
    }
    Ok(())
}

fn broken(text: &str, mutant: &Mutant) -> Result<String, Failure> {
    match text.matches(&mutant.from).count() {
        1 => Ok(text.replace(&mutant.from, &mutant.to)),
        times => Err(Failure::new(format!("{} has `{}` {times} times, not once", mutant.file, mutant.from))),
    }
}

/// The lines of the list: `FILE ~> FROM ~> TO`.
fn parse(text: &str) -> Result<Vec<Mutant>, Failure> {
    let lines = text.lines().zip(1..).filter(|(line, _)| !line.is_empty() && !line.starts_with('#'));
    let mutant = |(line, number): (&str, usize)| {
        let parts: Vec<&str> = line.split(" ~> ").collect();
        match *parts {
            [file, from, to] => Ok(Mutant { file: file.into(), from: from.into(), to: to.into() }),
            _ => Err(Failure::new(format!("{LIST}:{number}: a mutant is `FILE ~> FROM ~> TO`"))),
        }
    };
    lines.map(mutant).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mutant_is_a_file_a_place_and_what_it_becomes() {
        let mutants = parse("# of jbsq\njbsq.sv ~> a | b ~> a & b\n").expect("a list");
        let expected = Mutant { file: "jbsq.sv".into(), from: "a | b".into(), to: "a & b".into() };
        assert_eq!(mutants, [expected]);
        assert!(parse("jbsq.sv ~> a").is_err());
    }

    #[test]
    fn a_file_is_of_the_modules_that_have_it_within() {
        let models = "# of what\nbackend16 pipeline Cores=16\nbuffer recv_buffer\nrss rss\nfew rss Cores=2\n";
        let text =
            |top: &str| if top == "rss" { "  mix #(.Stages(0)) i_mix (".to_owned() } else { "  rss i".to_owned() };
        assert_eq!(models_of(models, "recv_buffer.sv", text), ["buffer"]);
        assert_eq!(models_of(models, "mix.sv", text), ["rss", "few"]);
        assert!(models_of(models, "backend.sv", text).is_empty());
    }

    #[test]
    fn a_place_that_is_not_there_once_is_refused() {
        let mutant = |from: &str| Mutant { file: "a.sv".into(), from: from.into(), to: "z".into() };
        assert!(broken("x x y", &mutant("x")).is_err() && broken("x x y", &mutant("w")).is_err());
        assert_eq!(broken("x x y", &mutant("y")).expect("it is there once"), "x x z");
    }
}
