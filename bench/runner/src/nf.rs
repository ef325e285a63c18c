//! Network functions compared with the kernel's own forwarding.

use super::{Row, Section, program};
use nebula_shell::{Attempt, Failure, Shell, run, stdout_of};

/// The section `nf` of the program `nebula-bench`, which starts the program `nebula` between
/// network namespaces.
pub(super) struct Nf;

impl Section for Nf {
    fn name(&self) -> &'static str {
        "nf"
    }

    fn what(&self) -> &'static str {
        "network functions beside the kernel's forwarding, and jbsq:2 beside rss under flows of which few send much (root)"
    }

    fn run(&self, shell: &Shell) -> Result<Vec<Row>, Failure> {
        run(&mut shell.cargo(&["build", "--profile", "dist", "-p", "nebula-cli"]))?;
        let nebula = shell.target().join("dist/nebula");
        let rows = stdout_of(program::run(shell, "").arg("nf").arg(nebula))?;
        serde_json::Deserializer::from_str(&rows).into_iter().collect::<Result<_, _>>().attempt("read the rows of `nf`")
    }
}
