//! A policy of another crate: a name, and a factory that makes its state.
//!
//! Its spelling is `custom:NAME`, mainly in decision logs. That text cannot be parsed: code that
//! reads such a log supplies the factory too.

use super::central::CentralDispatch;
use super::placement::{Placement, Queues};
use crate::arrival_queue::ArrivalQueue;
use crate::id::CoreId;
use crate::wire::Header;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use core::str::FromStr;

/// Bytes of the longest name.
const NAME_MAX: usize = 31;

/// The name of a policy of another crate: 1 to 31 of `a` to `z`, `0` to `9` and `-`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PolicyName {
    bytes: [u8; NAME_MAX],
    len: u8,
}

/// Not the name of a policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{name}\" cannot be the name of a policy: take 1 to {NAME_MAX} of a to z, 0 to 9 and -")]
pub struct PolicyNameError {
    name: String,
}

impl PolicyName {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(&self.bytes[..usize::from(self.len)]).unwrap_or_default()
    }
}

impl FromStr for PolicyName {
    type Err = PolicyNameError;
    fn from_str(name: &str) -> Result<Self, PolicyNameError> {
        let is_possible = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let mut bytes = [0; NAME_MAX];
        match (u8::try_from(name.len()), bytes.get_mut(..name.len())) {
            (Ok(len @ 1..), Some(place)) if name.bytes().all(is_possible) => {
                place.copy_from_slice(name.as_bytes());
                Ok(Self { bytes, len })
            }
            _ => Err(PolicyNameError { name: name.into() }),
        }
    }
}

impl fmt::Display for PolicyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for PolicyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

type Factory = dyn Fn(u16, u64) -> CustomState + Send + Sync;

/// A dispatch policy of the caller, served or simulated like a built-in one.
#[derive(Clone)]
pub struct CustomPolicy {
    name: PolicyName,
    make: Arc<Factory>,
}

impl CustomPolicy {
    /// A policy called `custom:` and `name`; `make` makes its state from cores and a seed.
    ///
    /// The state must decide the same for the same calls, and conform to [`CentralDispatch`]:
    /// `nebula-nic`'s `tests/dispatch_conformance.rs` is written to be copied.
    pub fn try_new<D>(name: &str, make: impl Fn(u16, u64) -> D + Send + Sync + 'static) -> Result<Self, PolicyNameError>
    where
        D: CentralDispatch + Clone + Send + 'static,
    {
        let name: PolicyName = name.parse()?;
        let make = move |cores, seed| CustomState { name, state: Box::new(make(cores, seed)) };
        Ok(Self { name, make: Arc::new(make) })
    }

    /// Its name, without the `custom:`.
    #[must_use]
    pub const fn name(&self) -> PolicyName {
        self.name
    }

    pub(super) fn state(&self, cores: u16, seed: u64) -> CustomState {
        (self.make)(cores, seed)
    }
}

impl PartialEq for CustomPolicy {
    /// The same name and the same factory.
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && Arc::ptr_eq(&self.make, &other.make)
    }
}

impl fmt::Display for CustomPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "custom:{}", self.name)
    }
}

impl fmt::Debug for CustomPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CustomPolicy").field("name", &self.name).finish_non_exhaustive()
    }
}

/// State of an unknown type that can be cloned.
trait State: CentralDispatch + Send {
    fn copy(&self) -> Box<dyn State>;
}

impl<D: CentralDispatch + Clone + Send + 'static> State for D {
    fn copy(&self) -> Box<dyn State> {
        Box::new(self.clone())
    }
}

/// The state of a [`CustomPolicy`]. Each decision is a virtual call.
pub struct CustomState {
    name: PolicyName,
    state: Box<dyn State>,
}

impl Clone for CustomState {
    fn clone(&self) -> Self {
        Self { name: self.name, state: self.state.copy() }
    }
}

impl fmt::Debug for CustomState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CustomState").field("name", &self.name).finish_non_exhaustive()
    }
}

impl CentralDispatch for CustomState {
    fn queues(&self) -> Queues {
        self.state.queues()
    }

    fn place(&mut self, header: &Header, waiting: &ArrivalQueue) -> Placement {
        self.state.place(header, waiting)
    }

    fn pick(&mut self) -> Option<CoreId> {
        self.state.pick()
    }

    fn handle_dispatched(&mut self, core: CoreId) {
        self.state.handle_dispatched(core);
    }

    fn handle_freed(&mut self, core: CoreId) {
        self.state.handle_freed(core);
    }

    fn outstanding(&self, core: CoreId) -> u32 {
        self.state.outstanding(core)
    }

    fn bound(&self) -> u32 {
        self.state.bound()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_name_has_few_letters_and_keeps_them() {
        for name in ["a", "jbsq-2", "0123456789012345678901234567890"] {
            assert_eq!(name.parse::<PolicyName>().unwrap().to_string(), name);
        }
        for name in ["", "Jbsq", "a b", "a:b", "\u{e9}", "01234567890123456789012345678901"] {
            assert!(name.parse::<PolicyName>().is_err(), "{name:?}");
        }
    }
}
