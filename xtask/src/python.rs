//! `cargo xtask python`: the package of lab/python, built as a wheel, installed in a fresh virtual
//! environment, and tested there.

use std::path::Path;
use std::process::Command;

use crate::shell::{Attempt, Failure, Shell, run as run_command};

/// Arguments of `cargo xtask python`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Measure instead of testing: what a call adds, how much of a sweep is simulation, two
    /// processes against one.
    #[arg(long)]
    bench: bool,
}

/// The builder of the wheel; the others as lab/python/pyproject.toml has them.
const MATURIN: &str = "maturin==1.16.0";
const EXTRAS: &str = "pandas,parquet,plot,dask,progress,notebook,test";

/// The package, below the root.
const PACKAGE: &str = "lab/python";

pub(crate) fn run(shell: &Shell, args: &Args) -> Result<(), Failure> {
    let folder = shell.target().join("nebula-lab");
    let (venv, wheels) = (folder.join("venv"), folder.join("wheels"));
    make_venv(shell, &venv)?;
    let wheel = wheel(shell, &venv, &wheels)?;
    pip(shell, &venv, &[&format!("{}[{EXTRAS}]", wheel.display())])?;
    // The program, whose numbers are to be the same.
    run_command(&mut shell.cargo(&["build", "-q", "-p", "nebula-cli", "-p", "nebula-lab-cli"]))?;
    if args.bench {
        return run_command(python(shell, &venv).arg("bench/overhead.py"));
    }
    run_command(python(shell, &venv).args(["-m", "mypy", "--config-file", "pyproject.toml", "python/nebula_lab"]))?;
    // The doctests are those of the wheel; the tests are named as a path, since packages of others
    // have a module `tests`.
    let pytest = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "./tests", "--pyargs", "nebula_lab"];
    run_command(python(shell, &venv).args(pytest))
}

fn make_venv(shell: &Shell, venv: &Path) -> Result<(), Failure> {
    let mut make = shell.command("python3");
    run_command(make.args(["-m", "venv", "--clear"]).arg(venv))?;
    pip(shell, venv, &[MATURIN])
}

fn pip(shell: &Shell, venv: &Path, packages: &[&str]) -> Result<(), Failure> {
    let mut pip = shell.command(venv.join("bin/python"));
    run_command(pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(packages))
}

/// Builds the one wheel, in the folder of the other release builds.
fn wheel(shell: &Shell, venv: &Path, wheels: &Path) -> Result<std::path::PathBuf, Failure> {
    if wheels.exists() {
        std::fs::remove_dir_all(wheels).attempt("remove the wheel of an earlier run")?;
    }
    let mut maturin = shell.command(venv.join("bin/maturin"));
    maturin.args(["build", "--release", "--quiet", "-m"]).arg(format!("{PACKAGE}/Cargo.toml")).arg("-o").arg(wheels);
    run_command(maturin.env("CARGO_TARGET_DIR", shell.target()))?;
    let mut files = std::fs::read_dir(wheels).attempt("list the wheels")?;
    let wheel = files.next().ok_or_else(|| Failure::new("maturin built no wheel"))?;
    Ok(wheel.attempt("list the wheels")?.path())
}

fn python(shell: &Shell, venv: &Path) -> Command {
    let mut python = shell.command(venv.join("bin/python"));
    python.current_dir(shell.root().join(PACKAGE)).env("NEBULA", shell.target().join("debug/nebula"));
    python.env("PYTHONDONTWRITEBYTECODE", "1").env("XDG_CACHE_HOME", shell.target().join("nebula-lab/cache"));
    python
}
