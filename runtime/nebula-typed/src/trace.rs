//! The trace context of an RPC.

use std::fmt::{Display, Formatter};
use std::str::FromStr;

/// A trace context of W3C (`traceparent`, version 00): the trace, the span that asked, and whether
/// it is sampled.
///
/// ```
/// use nebula_typed::TraceContext;
///
/// let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
/// let trace: TraceContext = text.parse()?;
/// assert!(trace.is_sampled());
/// assert_eq!(trace.to_string(), text);
/// # Ok::<(), nebula_typed::TraceContextError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TraceContext {
    trace: [u8; 16],
    parent: [u8; 8],
    flags: u8,
}

/// An invalid trace context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "not a trace context: write 00-TRACE-PARENT-FLAGS, of 32, 16 and 2 hexadecimal digits, and neither of the first two all zero"
)]
pub struct TraceContextError;

impl TraceContext {
    pub(crate) const BYTES: u8 = 25;

    /// A context; `None` if the trace or the parent is all zero, which W3C does not allow.
    #[must_use]
    pub fn new(trace: [u8; 16], parent: [u8; 8], flags: u8) -> Option<Self> {
        (trace != [0; 16] && parent != [0; 8]).then_some(Self { trace, parent, flags })
    }

    /// The trace's number.
    #[must_use]
    pub const fn trace_id(&self) -> [u8; 16] {
        self.trace
    }

    /// The number of the span that sent the RPC.
    #[must_use]
    pub const fn parent_id(&self) -> [u8; 8] {
        self.parent
    }

    /// Whether the trace is recorded.
    #[must_use]
    pub const fn is_sampled(&self) -> bool {
        self.flags & 1 != 0
    }

    /// The same trace with the span `parent`; `None` if that is all zero.
    #[must_use]
    pub fn child(&self, parent: [u8; 8]) -> Option<Self> {
        Self::new(self.trace, parent, self.flags)
    }

    pub(crate) fn to_bytes(self) -> [u8; Self::BYTES as usize] {
        let mut bytes = [0; Self::BYTES as usize];
        bytes[..16].copy_from_slice(&self.trace);
        bytes[16..24].copy_from_slice(&self.parent);
        bytes[24] = self.flags;
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (trace, rest) = bytes.split_first_chunk()?;
        let (parent, rest) = rest.split_first_chunk()?;
        let [flags] = rest else { return None };
        Self::new(*trace, *parent, *flags)
    }
}

impl Display for TraceContext {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let (trace, parent) = (u128::from_be_bytes(self.trace), u64::from_be_bytes(self.parent));
        write!(f, "00-{trace:032x}-{parent:016x}-{:02x}", self.flags)
    }
}

impl FromStr for TraceContext {
    type Err = TraceContextError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parsed = || {
            let mut parts = text.split('-');
            let mut part = |digits: usize| {
                let part = parts.next().filter(|part| part.len() == digits)?;
                let is_hex = part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
                if is_hex { u128::from_str_radix(part, 16).ok() } else { None }
            };
            let (version, trace, parent, flags) = (part(2)?, part(32)?, part(16)?, part(2)?);
            if version != 0 || parts.next().is_some() {
                return None;
            }
            let (parent, flags) = (u64::try_from(parent).ok()?, u8::try_from(flags).ok()?);
            Self::new(trace.to_be_bytes(), parent.to_be_bytes(), flags)
        };
        parsed().ok_or(TraceContextError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_texts_of_the_standard_are_taken() {
        let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";
        assert_eq!(good.parse::<TraceContext>().map(|trace| trace.to_string()), Ok(good.into()));
        let bad = [
            "",
            "00",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-00",
            "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00-1",
            "00-+bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00",
        ];
        for text in bad {
            assert_eq!(text.parse::<TraceContext>(), Err(TraceContextError), "{text}");
        }
    }
}
