//! Instructions of an echo whose server samples RPCs for its status page, beside those of one that
//! does not.

use super::{Against, Bound, ECHOES, Echo, Row, runtime_program};
use crate::callgrind;
use nebula_shell::{Failure, Shell};

/// What an RPC may take with samples, as a share of what it takes without.
const MOST: f64 = 1.02;

/// One row for each transport and number of RPCs at a time.
pub(super) fn rows(shell: &Shell, rpcs: u32) -> Result<Vec<Row>, Failure> {
    let each = ECHOES.iter().flat_map(|echo| echo.most.map(|(batch, _)| (echo, batch)));
    each.map(|(echo, batch)| row(shell, echo, batch, rpcs)).collect()
}

fn row(shell: &Shell, echo: &Echo, batch: u32, rpcs: u32) -> Result<Row, Failure> {
    let program = runtime_program(shell, echo.name)?;
    let count = |metrics: u32| {
        let args = [rpcs.to_string(), batch.to_string(), metrics.to_string()];
        let total = callgrind::instructions_within(shell, &program, &args, &format!("*{}*exchange*", echo.name))?;
        // A name that matches nothing counts nothing, and would keep every promise.
        if total < u64::from(rpcs) {
            return Err(Failure::new(format!("{total} instructions counted in {rpcs} RPCs: `exchange` was not found")));
        }
        #[expect(clippy::cast_precision_loss, reason = "a count of instructions is far below 2^53")]
        Ok(total as f64 / f64::from(rpcs))
    };
    let (with, without) = (count(1)?, count(0)?);
    let what = format!("{}, {batch} at a time, with samples for the status page", echo.what);
    let against = Against { what: "without".into(), ratio: with / without, bound: Some(Bound::AtMost(MOST)) };
    Ok(Row { what, value: with, unit: "instructions".into(), against: Some(against) })
}
