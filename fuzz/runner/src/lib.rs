//! `cargo xtask explore fuzz`: libFuzzer on stable Rust, with no tool but a C++ compiler.
//!
//! The targets are the programs of the workspace `fuzz/`, laid out for cargo-fuzz, so
//! `cargo fuzz run` works too. This builds them with the instrumentation of cargo-fuzz's
//! `--sanitizer none`, which needs no nightly compiler; safe Rust leaves a sanitizer little to
//! find.
//!
//! Two ways to run a target:
//!
//! | | begins with | draws | ends after | used by |
//! |---|---|---|---|---|
//! | fixed | `fuzz/seeds/TARGET` | from a fixed seed | a number of inputs | `cargo xtask test`: the same inputs every time |
//! | exploring | the seeds and `fuzz/corpus/TARGET`, which is not checked in | from a new seed | a time | people, and machines at night |
//!
//! `--keep` copies inputs that reach new code into the seeds, and so into the fixed run.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a chore's output is what it is run for")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use nebula_shell::{Attempt, Failure, Shell, files, line_of, run as run_command};

/// Arguments of `cargo xtask explore fuzz`.
#[derive(clap::Args)]
pub struct Args {
    /// The target; all of them, one after another, when left out.
    target: Option<String>,
    /// How long each target explores.
    #[arg(long, default_value_t = 30)]
    seconds: u32,
    /// Try this many inputs from a fixed seed instead, as `cargo xtask test` does: the same ones
    /// every time.
    #[arg(long, value_name = "N", conflicts_with = "seconds")]
    inputs: Option<u32>,
    /// Afterwards copy what reaches new code into fuzz/seeds.
    #[arg(long, conflicts_with = "inputs")]
    keep: bool,
    /// Run the target on this one input instead: what a crash left in fuzz/artifacts.
    #[arg(long, value_name = "FILE", requires = "target", conflicts_with_all = ["inputs", "keep"])]
    replay: Option<PathBuf>,
    /// Print the targets and stop.
    #[arg(long)]
    list: bool,
}

/// Inline counters for coverage, and the operands of compares, so that constants are found and not
/// guessed.
const FLAGS: &[&str] = &[
    "--cfg fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Cdebug-assertions",
];

/// Runs one target, or all, for a time or for a number of inputs.
///
/// # Errors
///
/// A target crashed, or could not be built.
pub fn run(shell: &Shell, args: &Args) -> Result<(), Failure> {
    let targets = chosen(targets(shell.root())?, args.target.as_deref())?;
    if args.list {
        targets.iter().for_each(|target| println!("{target}"));
        return Ok(());
    }
    if !has_cxx(shell) {
        return Err(Failure::new("libFuzzer is C++ and there is no C++ compiler (apt-get install g++)"));
    }
    let programs = build(shell)?;
    for target in &targets {
        match &args.replay {
            Some(input) => run_command(shell.command(programs.join(target)).arg(from_here(input)?))?,
            None => {
                let effort =
                    args.inputs.map_or(Effort::Explore { seconds: args.seconds }, |inputs| Effort::Fixed { inputs });
                fuzz(shell, &programs, target, effort)?;
                if args.keep {
                    keep(shell, &programs, target)?;
                }
            }
        }
    }
    Ok(())
}

/// Tries the same `inputs` inputs of every target each time.
///
/// # Errors
///
/// As [`run`].
pub fn run_fixed(shell: &Shell, inputs: u32) -> Result<(), Failure> {
    run(shell, &Args { target: None, seconds: 0, inputs: Some(inputs), keep: false, replay: None, list: false })
}

#[derive(Clone, Copy, Debug)]
enum Effort {
    Fixed { inputs: u32 },
    Explore { seconds: u32 },
}

impl Effort {
    fn corpus(self, shell: &Shell, target: &str) -> PathBuf {
        match self {
            Self::Fixed { .. } => shell.target().join("fuzz/fixed").join(target),
            Self::Explore { .. } => shell.root().join("fuzz/corpus").join(target),
        }
    }

    fn arguments(self) -> Vec<String> {
        match self {
            // libFuzzer counts the seeds too. A seed of 0 would be a random one.
            Self::Fixed { inputs } => vec!["-seed=1".to_owned(), format!("-runs={inputs}")],
            Self::Explore { seconds } => vec![format!("-max_total_time={seconds}")],
        }
    }
}

/// Whether libFuzzer can be built here.
pub fn has_cxx(shell: &Shell) -> bool {
    shell.has("c++", &["--version"])
}

fn targets(root: &Path) -> Result<Vec<String>, Failure> {
    let files = files::list(root.join("fuzz/fuzz_targets"))?.into_iter();
    Ok(files.filter_map(|file| Some(file.file_name()?.to_str()?.strip_suffix(".rs")?.to_owned())).collect())
}

fn chosen(targets: Vec<String>, wanted: Option<&str>) -> Result<Vec<String>, Failure> {
    let Some(wanted) = wanted else { return Ok(targets) };
    if targets.iter().any(|target| target == wanted) {
        return Ok(vec![wanted.to_owned()]);
    }
    Err(Failure::new(format!("no fuzz target `{wanted}`; there are: {}", targets.join(", "))))
}

/// Resolved from the caller's folder: the program runs in another.
fn from_here(path: &Path) -> Result<PathBuf, Failure> {
    path.canonicalize().attempt(format!("find {}", path.display()))
}

/// Builds every target; returns their folder.
fn build(shell: &Shell) -> Result<PathBuf, Failure> {
    let host = shell.host()?;
    // With `--target`, the flags do not apply to build scripts and procedural macros, which have no
    // libFuzzer to link.
    let args = ["build", "--release", "--manifest-path", "fuzz/Cargo.toml", "--bins", "--target", &host];
    run_command(shell.cargo(&args).env("CARGO_TARGET_DIR", shell.target()).env("RUSTFLAGS", FLAGS.join(" ")))?;
    Ok(shell.target().join(host).join("release"))
}

/// Fuzzes one target. A fixed run begins with the seeds alone, whatever earlier runs found.
fn fuzz(shell: &Shell, programs: &Path, target: &str, effort: Effort) -> Result<(), Failure> {
    let corpus = effort.corpus(shell, target);
    let [seeds, artifacts] = ["seeds", "artifacts"].map(|folder| format!("fuzz/{folder}/{target}"));
    if matches!(effort, Effort::Fixed { .. }) {
        files::remove(&corpus)?;
    }
    files::make(&corpus)?;
    files::make(shell.root().join(&artifacts))?;
    let mut command = shell.command(programs.join(target));
    command
        .arg(&corpus)
        .arg(&seeds)
        .args(effort.arguments())
        .args(LIMITS)
        .arg(format!("-artifact_prefix={artifacts}/"));
    if run_without_dictionary(&mut command)?.success() {
        return Ok(());
    }
    Err(Failure::new(format!(
        "{target} crashed; the input is in {artifacts}: replay with `cargo xtask fuzz {target} --replay {artifacts}/FILE`"
    )))
}

fn keep(shell: &Shell, programs: &Path, target: &str) -> Result<(), Failure> {
    let [corpus, seeds] = ["corpus", "seeds"].map(|folder| format!("fuzz/{folder}/{target}"));
    let mut command = shell.command(programs.join(target));
    run_command(command.args(["-merge=1", &seeds, &corpus]).args(LIMITS))
}

/// Runs a target and prints its output, except the values at the end for use as a dictionary.
fn run_without_dictionary(command: &mut Command) -> Result<ExitStatus, Failure> {
    println!("$ {}", line_of(command));
    let mut child = command.stderr(Stdio::piped()).spawn().attempt("start the fuzz target")?;
    let is_dictionary = |line: &str| line.contains("# Uses: ") || line.starts_with("######");
    for line in child.stderr.take().map(BufReader::new).into_iter().flat_map(BufReader::lines).map_while(Result::ok) {
        if !is_dictionary(&line) {
            println!("{line}");
        }
    }
    child.wait().attempt("wait for the fuzz target")
}

/// One input takes well below a millisecond: a minute means an endless loop, even on a busy
/// machine.
const LIMITS: &[&str] =
    &["-timeout=60", "-rss_limit_mb=2048", "-print_funcs=0", "-print_final_stats=1", "-verbosity=0"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_target_is_refused_with_the_names_there_are() {
        let failure = chosen(vec!["a".into(), "b".into()], Some("c")).expect_err("there is no such target");
        assert!(failure.to_string().contains("there are: a, b"), "{failure}");
    }

    #[test]
    fn every_target_is_a_program_of_the_manifest_and_has_seeds() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join("..");
        let manifest = std::fs::read_to_string(root.join("fuzz/Cargo.toml")).expect("the manifest can be read");
        let targets = targets(&root).expect("the targets can be listed");
        assert!(!targets.is_empty());
        for target in targets {
            assert!(manifest.contains(&format!("name = \"{target}\"")), "{target} is no program of the manifest");
            let seeds = root.join("fuzz/seeds").join(&target).read_dir().expect("there is a folder of seeds");
            assert!(seeds.count() > 0, "{target} has no seeds");
        }
    }
}
