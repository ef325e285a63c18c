//! Rows from a program of the workspace that prints them as JSON lines.

use super::Row;
use crate::shell::{Attempt, Failure, Shell, stdout_of};

/// Runs `cargo run --release ARGS` and reads the rows it prints; what else it has to say belongs on stderr.
#[expect(dead_code, reason = "sections that measure time call it")]
pub(super) fn rows(shell: &Shell, args: &[&str]) -> Result<Vec<Row>, Failure> {
    parse(&stdout_of(shell.cargo(&["run", "--quiet", "--release"]).args(args))?)
}

/// One row from each line that opens a JSON object.
fn parse(stdout: &str) -> Result<Vec<Row>, Failure> {
    let lines = stdout.lines().filter(|line| line.starts_with('{'));
    lines.map(|line| serde_json::from_str(line).attempt(format!("read the row `{line}`"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{Against, Bound};

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
