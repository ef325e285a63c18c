//! The key-value service compared with its own store called directly.

use super::{Row, Section, program};
use nebula_shell::{Attempt, Failure, Shell, run, stdout_of};

/// The section `kv` of the program `nebula-bench`, which starts the program `nebula` as its server.
pub(super) struct Kv;

impl Section for Kv {
    fn name(&self) -> &'static str {
        "kv"
    }

    fn what(&self) -> &'static str {
        "the KV service over shm, beside the same store called directly on one core in the same run"
    }

    fn run(&self, shell: &Shell) -> Result<Vec<Row>, Failure> {
        run(&mut shell.cargo(&["build", "--profile", "dist", "-p", "nebula-cli"]))?;
        let nebula = shell.target().join("dist/nebula");
        let rows = stdout_of(program::run(shell, "").arg("kv").arg(nebula))?;
        serde_json::Deserializer::from_str(&rows).into_iter().collect::<Result<_, _>>().attempt("read the rows of `kv`")
    }
}
