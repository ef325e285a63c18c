//! The defaults beside the best settings.

use super::{Row, Section, program};
use nebula_shell::{Failure, Shell, run, stdout_of};

/// The section `defaults` of the program `nebula-bench`, which starts the program `nebula` as its
/// server and as its load.
pub(super) struct Defaults;

impl Section for Defaults {
    fn name(&self) -> &'static str {
        "defaults"
    }

    fn what(&self) -> &'static str {
        "README's example, two processes and the KV service with nothing set, beside the best setting, on 1, 2 and 4 cores"
    }

    fn run(&self, shell: &Shell) -> Result<Vec<Row>, Failure> {
        run(&mut shell.cargo(&["build", "--profile", "dist", "-p", "nebula-cli"]))?;
        let nebula = shell.target().join("dist/nebula");
        program::parse(&stdout_of(program::run(shell, "").arg("defaults").arg(nebula))?)
    }
}
