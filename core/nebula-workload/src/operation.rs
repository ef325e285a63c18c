//! One operation of the load: when it is due, what it does, and to which key.

use std::fmt;
use std::str::FromStr;

use nebula_nic::Timestamp;

use crate::error::WorkloadError;
use crate::keys::Key;

/// The effect of an operation on its key.
///
/// # Examples
///
/// ```
/// use nebula_workload::Op;
///
/// assert_eq!("set".parse(), Ok(Op::Set));
/// assert_eq!(Op::Delete.to_string(), "delete");
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Reads the value.
    Get,
    /// Writes the value.
    Set,
    /// Removes the pair.
    Delete,
    /// Reads the pairs from its key on, in ascending order.
    Scan,
}

impl Op {
    /// Every operation, in the order in which a mix is written.
    pub const ALL: [Self; 4] = [Self::Get, Self::Set, Self::Delete, Self::Scan];

    /// The spelling of the operation.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Set => "set",
            Self::Delete => "delete",
            Self::Scan => "scan",
        }
    }
}

impl FromStr for Op {
    type Err = WorkloadError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let op = Self::ALL.into_iter().find(|op| op.as_str() == text);
        op.ok_or_else(|| WorkloadError::spelling("operation", text, "get, set, delete or scan"))
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// An operation and the moment at which the schedule intends it to be sent.
///
/// # Examples
///
/// ```
/// use nebula_nic::Timestamp;
/// use nebula_workload::{Key, Op, Operation};
///
/// let set = Operation { at: Timestamp::ZERO, op: Op::Set, key: Key(7), value_bytes: 512 };
/// assert_eq!(set.key.to_bytes().len(), 16);
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// When the operation is due; its latency counts from here, however late it is sent.
    pub at: Timestamp,
    /// Its effect.
    pub op: Op,
    /// The key it applies to.
    pub key: Key,
    /// The bytes that a SET writes. For others: 0, or the trace's value.
    pub value_bytes: u32,
}
