//! `cargo xtask first-run`: a newcomer's wait, from a clean clone to the demo's first result.
//!
//! Clones the last commit, runs `cargo run --release -- demo` in the clone with an empty registry
//! cache, and stops it at its first row. A source replacement in the user's Cargo configuration
//! holds in the clone too.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::shell::{Attempt, Failure, Shell, run as run_command};

/// What `cargo xtask first-run` can be told.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Keep the clone and what was built in it.
    #[arg(long)]
    keep: bool,
}

/// The promise to a newcomer on two cores.
const WALL_MAX: Duration = Duration::from_secs(110);
const CPU_MAX: Duration = Duration::from_secs(180);
/// The demo measures pauses under load for two of these seconds, and its first load for three.
const DEMO_MAX: Duration = Duration::from_secs(12);
/// The demo's first row begins with the name of the first design.
const FIRST_ROW: &str = "jbsq:2";

#[derive(Debug)]
struct Measured {
    /// From the command to the first row: downloads, build and demo.
    wall: Duration,
    /// Of the build.
    cpu: Duration,
    /// From the end of the build to the first row.
    demo: Duration,
}

pub(crate) fn run(shell: &Shell, args: &Args) -> Result<(), Failure> {
    let folder = shell.target().join("first-run");
    remove(&folder)?;
    let (clone, cargo_home) = (folder.join("clone"), folder.join("cargo-home"));
    std::fs::create_dir_all(&cargo_home).attempt(format!("make the folder {}", cargo_home.display()))?;
    copy_configuration(&cargo_home)?;
    run_command(shell.command("git").args(["clone", "--quiet", "--no-local", "."]).arg(&clone))?;
    let measured = measure(&clone, &cargo_home)?;
    if !args.keep {
        remove(&folder)?;
    }
    report(&measured)
}

fn measure(clone: &Path, cargo_home: &Path) -> Result<Measured, Failure> {
    let mut command = Command::new("cargo");
    command.args(["run", "--release", "--", "demo", "--no-report"]).current_dir(clone);
    command.env("CARGO_HOME", cargo_home).env_remove("CARGO_TARGET_DIR").env_remove("RUSTFLAGS");
    let begun = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().attempt("start cargo")?;
    let lines = child.stdout.take().map(BufReader::new).into_iter().flat_map(BufReader::lines);
    let mut found = None;
    for line in lines.map_while(Result::ok) {
        println!("{line}");
        if line.starts_with(FIRST_ROW) {
            found = Some(Instant::now());
            break;
        }
    }
    // Cargo has become the program, with its processor time.
    let times = found.and_then(|row| Some((row, cpu_of_children(&child)?)));
    let program = clone.join("target/release/nebula");
    let _ = child.kill();
    child.wait().attempt("wait for the demo")?;
    let (row, cpu) = times.ok_or_else(|| Failure::new("the demo ended without a row"))?;
    let built = program.metadata().and_then(|file| file.modified()).attempt("look at the program")?;
    let demo = built.elapsed().map_or(Duration::ZERO, |since| since.saturating_sub(row.elapsed()));
    Ok(Measured { wall: row - begun, cpu, demo })
}

/// Processor time of the processes that `child` has waited for, the compilers: fields 16 and 17 of
/// proc_pid_stat(5), in hundredths.
fn cpu_of_children(child: &Child) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
    let ticks: u64 = fields.get(13)?.parse::<u64>().ok()? + fields.get(14)?.parse::<u64>().ok()?;
    Some(Duration::from_millis(10 * ticks))
}

fn copy_configuration(cargo_home: &Path) -> Result<(), Failure> {
    let own = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let own = own.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let Some(config) = own.map(|own| own.join("config.toml")).filter(|config| config.exists()) else { return Ok(()) };
    let copied = std::fs::copy(&config, cargo_home.join("config.toml"));
    copied.map(drop).attempt(format!("copy {}", config.display()))
}

fn remove(folder: &Path) -> Result<(), Failure> {
    if folder.exists() {
        return std::fs::remove_dir_all(folder).attempt(format!("remove {}", folder.display()));
    }
    Ok(())
}

/// Prints the measurements and the promises; a broken promise is a failure.
fn report(measured: &Measured) -> Result<(), Failure> {
    let rows = [
        ("from `cargo run --release -- demo` to its first row", measured.wall, WALL_MAX),
        ("processor time of the build", measured.cpu, CPU_MAX),
        ("from the end of the build to the first row", measured.demo, DEMO_MAX),
    ];
    for (what, took, most) in rows {
        let is_kept = if took <= most { "yes" } else { "NO" };
        println!("{what:52} {:6.1} s   promised on 2 cores: {:3} s: {is_kept}", took.as_secs_f64(), most.as_secs());
    }
    if rows.iter().all(|(_, took, most)| took <= most) { Ok(()) } else { Err(Failure::new("a promise is not kept")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_time_of_a_child_that_waited_for_nobody_is_zero() {
        let mut child = Command::new("sleep").arg("60").spawn().expect("sleep starts");
        let cpu = cpu_of_children(&child);
        child.kill().expect("it runs");
        child.wait().expect("it ends");
        assert_eq!(cpu, Some(Duration::ZERO));
    }

    #[test]
    fn a_promise_that_is_not_kept_is_a_failure() {
        let kept = Measured { wall: WALL_MAX, cpu: CPU_MAX, demo: DEMO_MAX };
        assert!(report(&kept).is_ok());
        assert!(report(&Measured { cpu: CPU_MAX + Duration::from_millis(1), ..kept }).is_err());
    }
}
