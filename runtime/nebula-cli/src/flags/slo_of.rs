//! Bounds for single operations: `get=12.5us,scan=1ms`.

use std::str::FromStr;

use nebula_nic::Span;
use nebula_workload::Op;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SloOf(pub(crate) Vec<(Op, Span)>);

impl FromStr for SloOf {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("expected a bound for each of some operations, such as get=12.5us,scan=1ms, not {text:?}");
        let mut bounds = Vec::new();
        for part in text.split(',') {
            let (op, span) = part.split_once('=').ok_or_else(wrong)?;
            let op: Op = op.trim().parse().map_err(|_| wrong())?;
            let span: Span = span.trim().parse().map_err(|_| wrong())?;
            if bounds.iter().any(|&(other, _)| other == op) {
                return Err(wrong());
            }
            bounds.push((op, span));
        }
        Ok(Self(bounds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_operation_has_one_bound_at_most() {
        let bounds = "get=12.5us, scan = 1ms".parse::<SloOf>().unwrap();
        assert_eq!(bounds.0, [(Op::Get, Span::from_ns(12_500)), (Op::Scan, Span::from_ms(1))]);
        for text in ["", "get", "get=", "put=1us", "get=1us,get=2us", "get=1us,"] {
            let error = text.parse::<SloOf>().unwrap_err();
            assert!(error.contains("get=12.5us,scan=1ms"), "{error}");
        }
    }
}
