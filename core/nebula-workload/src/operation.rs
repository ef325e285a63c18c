//! One operation of the load: when it is due, what it does, and to which key.

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

nebula_nic::spelled! {
    Op { Get = "get", Set = "set", Delete = "delete", Scan = "scan" } else |text| -> WorkloadError {
        WorkloadError::spelling("operation", text, "get, set, delete or scan")
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
