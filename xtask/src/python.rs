//! `cargo xtask python`: builds the package of lab/python as a wheel, installs it in a fresh
//! virtual environment, and tests it there.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::shell::{Failure, Shell, files, run as run_command};

/// Arguments of `cargo xtask python`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Measure instead of testing: what a call adds, how much of a sweep is simulation, two
    /// processes against one.
    #[arg(long)]
    bench: bool,
}

/// The builder of the wheel; lab/python/pyproject.toml has the other versions.
const MATURIN: &str = "maturin==1.16.0";
const EXTRAS: &str = "pandas,parquet,plot,dask,progress,notebook,test";

const PACKAGE: &str = "lab/python";

pub(crate) fn run(shell: &Shell, args: &Args) -> Result<(), Failure> {
    let folder = shell.target().join("nebula-lab");
    let (venv, wheels) = (folder.join("venv"), folder.join("wheels"));
    files::remove(&venv)?;
    shell.python(&venv, &[MATURIN])?;
    let wheel = wheel(shell, &venv, &wheels)?;
    shell.python(&venv, &[&format!("{}[{EXTRAS}]", wheel.display())])?;
    // The tests compare numbers with the program's.
    run_command(&mut shell.cargo(&["build", "-q", "-p", "nebula-cli", "-p", "nebula-lab-cli"]))?;
    if args.bench {
        return run_command(python(shell, &venv).arg("bench/overhead.py"));
    }
    run_command(python(shell, &venv).args(["-m", "mypy", "--config-file", "pyproject.toml", "python/nebula_lab"]))?;
    // The doctests are those of the wheel. The tests are named as a path, since other packages have
    // a module `tests`.
    let pytest = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "./tests", "--pyargs", "nebula_lab"];
    run_command(python(shell, &venv).args(pytest))
}

fn wheel(shell: &Shell, venv: &Path, wheels: &Path) -> Result<PathBuf, Failure> {
    files::empty(wheels)?;
    let mut maturin = shell.command(venv.join("bin/maturin"));
    maturin.args(["build", "--release", "--quiet", "-m"]).arg(format!("{PACKAGE}/Cargo.toml")).arg("-o").arg(wheels);
    run_command(maturin.env("CARGO_TARGET_DIR", shell.target()))?;
    files::list(wheels)?.pop().ok_or_else(|| Failure::new("maturin built no wheel"))
}

fn python(shell: &Shell, venv: &Path) -> Command {
    let mut python = shell.command(venv.join("bin/python"));
    python.current_dir(shell.root().join(PACKAGE)).env("NEBULA", shell.target().join("debug/nebula"));
    python.env("PYTHONDONTWRITEBYTECODE", "1").env("XDG_CACHE_HOME", shell.target().join("nebula-lab/cache"));
    python
}
