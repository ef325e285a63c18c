//! Instructions of an RPC of a generated service, client and server together, beside those of a
//! handler of bytes written by hand.

use super::{Against, Bound, Row, runtime_program};
use crate::callgrind;
use nebula_shell::{Failure, Shell};

/// What an RPC of the line encoding may take, as a share of one of the handler written by hand.
const LINE_MOST: f64 = 1.0;

/// What one of protobuf's encoding may take: a twentieth above what it took when the bound was set.
const PROTOBUF_MOST: f64 = 2.26;

/// One row for each way.
pub(super) fn rows(shell: &Shell, rpcs: u32) -> Result<Vec<Row>, Failure> {
    let program = runtime_program(shell, "typed_instructions")?;
    let count = |how: &str| {
        let args = [how.to_owned(), rpcs.to_string()];
        let total = callgrind::instructions_within(shell, &program, &args, "*typed_instructions*exchange*")?;
        // A name that matches nothing counts nothing, and would keep every promise.
        if total < u64::from(rpcs) {
            return Err(Failure::new(format!("{total} instructions in {rpcs} RPCs ({how}): `exchange` was not found")));
        }
        #[expect(clippy::cast_precision_loss, reason = "a count of instructions is far below 2^53")]
        Ok(total as f64 / f64::from(rpcs))
    };
    let by_hand = count("bytes")?;
    let row = |encoding: &str, value: f64, bound| Row {
        what: format!("RPC of a generated service over shared memory, {encoding}, client and server"),
        value,
        unit: "instructions".into(),
        against: Some(Against { what: "a handler of bytes written by hand".into(), ratio: value / by_hand, bound }),
    };
    let line = row("line encoding", count("line")?, Some(Bound::AtMost(LINE_MOST)));
    Ok(vec![line, row("protobuf", count("protobuf")?, Some(Bound::AtMost(PROTOBUF_MOST)))])
}
