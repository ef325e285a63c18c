//! The simulator compared with a bare recursion and with SimPy.

use super::{Row, Section, program};
use nebula_shell::{Failure, Shell, run, stdout_of};
use std::path::PathBuf;

/// The section `lab` of the program `nebula-bench`, with a Python that has SimPy.
pub(super) struct Lab;

impl Section for Lab {
    fn name(&self) -> &'static str {
        "lab"
    }

    fn what(&self) -> &'static str {
        "simulated RPCs a second, beside a bare recursion and SimPy in the same run; 1,024 cores beside 16"
    }

    fn run(&self, shell: &Shell) -> Result<Vec<Row>, Failure> {
        program::parse(&stdout_of(program::run(shell, "lab").arg("lab").arg(python(shell)?))?)
    }
}

/// A virtual environment with the version of SimPy that `bench/simpy/requirements.txt` names.
fn python(shell: &Shell) -> Result<PathBuf, Failure> {
    let home = shell.target().join("simpy");
    let python = home.join("bin/python");
    let script = shell.root().join("bench/simpy");
    if !shell.has(&python.display().to_string(), &["-c", "import simpy"]) {
        run(shell.command("python3").args(["-m", "venv"]).arg(&home))?;
        run(shell
            .command(&python)
            .args(["-m", "pip", "install", "--quiet", "-r"])
            .arg(script.join("requirements.txt")))?;
    }
    Ok(python)
}
