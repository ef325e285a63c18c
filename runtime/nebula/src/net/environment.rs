//! The environment that a `udp://` transport runs in.

use super::time::Time;
use super::wire::Wire;
use std::io;

/// The environment of a `udp://` server or client.
pub struct Environment {
    /// The network.
    pub wire: Box<dyn Wire>,
    /// The clock.
    pub time: Time,
    /// Random bytes, from which secrets are derived. They must be secret and never used twice,
    /// except in a simulation.
    pub entropy: [u8; 32],
}

impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Environment").field("wire", &self.wire).field("time", &self.time).finish_non_exhaustive()
    }
}

impl Environment {
    /// The environment of this machine: its clock, and random bytes from the kernel.
    ///
    /// # Errors
    ///
    /// When the kernel returns no random bytes.
    pub fn machine(wire: impl Wire + 'static) -> io::Result<Self> {
        Ok(Self { wire: Box::new(wire), time: Time::Machine, entropy: random_bytes()? })
    }
}

pub(crate) fn random_bytes() -> io::Result<[u8; 32]> {
    let mut bytes = [0; 32];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(bytes)
}
