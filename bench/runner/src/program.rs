//! Sections of the program `nebula-bench` in the workspace `bench/`, which prints its rows as JSON
//! lines.

use super::{Row, Section};
use nebula_shell::{Attempt, Failure, Shell, stdout_of};

/// One section of the program.
pub(super) struct SideBySide {
    /// The word that chooses it, here and as the program's argument.
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    /// Features of the program beside none: what a section does not need is not built.
    pub(super) features: &'static str,
}

impl Section for SideBySide {
    fn name(&self) -> &'static str {
        self.name
    }

    fn what(&self) -> &'static str {
        self.what
    }

    /// The program prints other messages to stderr, which is the terminal.
    fn run(&self, shell: &Shell) -> Result<Vec<Row>, Failure> {
        parse(&stdout_of(run(shell, self.features).arg(self.name))?)
    }
}

/// The program with some features, ready for its arguments.
pub(super) fn run(shell: &Shell, features: &str) -> std::process::Command {
    let mut run = shell.cargo(&["run", "--quiet", "--profile", "dist", "--manifest-path", "bench/Cargo.toml"]);
    run.args(["--no-default-features", "--features", features, "--"]);
    run
}

/// One row from each line that opens a JSON object.
pub(super) fn parse(stdout: &str) -> Result<Vec<Row>, Failure> {
    let lines = stdout.lines().filter(|line| line.starts_with('{'));
    lines.map(|line| serde_json::from_str(line).attempt(format!("read the row `{line}`"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Against, Bound};

    #[test]
    fn a_row_is_read_from_its_line() {
        let line = r#"{"what":"echo","value":13.5,"unit":"M RPC/s","against":{"what":"ring","ratio":0.41,"bound":{"at_least":0.4}}}"#;
        let against = Against { what: "ring".into(), ratio: 0.41, bound: Some(Bound::AtLeast(0.4)) };
        let row = Row { what: "echo".into(), value: 13.5, unit: "M RPC/s".into(), against: Some(against) };
        assert_eq!(parse(&format!("warming up\n{line}\n")).expect("a row"), [row]);
    }

    #[test]
    fn a_line_that_is_no_row_is_a_failure() {
        assert!(parse("{\"what\":1}").is_err());
    }
}
