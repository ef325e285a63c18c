//! A replicated store's commits beside etcd's.

use super::{Row, Section, program};
use nebula_shell::{Failure, Shell, run, stdout_of};

/// The section `replication` of the program `nebula-bench`, which starts the program `nebula` and
/// etcd.
pub(super) struct Replication;

impl Section for Replication {
    fn name(&self) -> &'static str {
        "replication"
    }

    fn what(&self) -> &'static str {
        "writes of three replicas, each synced by a majority, beside etcd on the same disk in the same run"
    }

    fn run(&self, shell: &Shell) -> Result<Vec<Row>, Failure> {
        run(&mut shell.cargo(&["build", "--profile", "dist", "-p", "nebula-cli", "--features", "replicate"]))?;
        let nebula = shell.target().join("dist/nebula");
        program::parse(&stdout_of(program::run(shell, "replication").arg("replication").arg(nebula))?)
    }
}
