//! Sections of the program `nebula-bench` in the workspace `bench/`, which prints its rows as JSON
//! lines.

use std::path::PathBuf;

use crate::row::Row;
use nebula_shell::{Attempt, Failure, Shell, run, stdout_of};

/// The program, as a section needs it.
pub(crate) struct Program {
    /// Features of it beside none.
    pub(crate) features: &'static str,
    pub(crate) given: Given,
}

/// SimPy, as pip takes it.
const SIMPY: [&str; 2] = ["-r", "bench/simpy/requirements.txt"];

/// The argument of the program behind its words.
pub(crate) enum Given {
    Nothing,
    /// The program `nebula`, which it starts as its server. Cargo builds it with these words:
    /// features, and packages of the programs that it runs.
    Nebula(&'static [&'static str]),
    /// A Python that has SimPy.
    Simpy,
}

impl Program {
    /// The rows that it prints when it is told these words, of which the first is a section. It
    /// prints other messages to stderr, which is the terminal.
    pub(crate) fn rows(&self, shell: &Shell, words: &[&str]) -> Result<Vec<Row>, Failure> {
        let mut run = shell.cargo(&["run", "--quiet", "--profile", "dist", "--manifest-path", "bench/Cargo.toml"]);
        run.args(["--no-default-features", "--features", self.features, "--"]).args(words);
        match &self.given {
            Given::Nothing => &mut run,
            Given::Nebula(with) => run.arg(nebula(shell, with)?),
            Given::Simpy => run.arg(shell.python(&shell.target().join("simpy"), &SIMPY)?),
        };
        parse(&stdout_of(&mut run)?)
    }
}

/// The rows of the program `nebula-bench-user`, built as a user's program is.
pub(crate) fn of_a_user(shell: &Shell) -> Result<Vec<Row>, Failure> {
    let run = ["run", "--quiet", "--release", "--manifest-path", "bench/user/Cargo.toml", "--", "user"];
    parse(&stdout_of(&mut shell.cargo(&run))?)
}

fn nebula(shell: &Shell, with: &[&str]) -> Result<PathBuf, Failure> {
    run(shell.cargo(&["build", "--profile", "dist", "-p", "nebula-cli"]).args(with))?;
    Ok(shell.target().join("dist/nebula"))
}

/// One row from each line that opens a JSON object.
fn parse(stdout: &str) -> Result<Vec<Row>, Failure> {
    let lines = stdout.lines().filter(|line| line.starts_with('{'));
    lines.map(|line| serde_json::from_str(line).attempt(format!("read the row `{line}`"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{Against, Bound};

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
