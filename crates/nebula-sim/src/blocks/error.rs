//! What the block level can be asked for in vain.

use crate::error::{SimError, toml_reason};
use nebula_memsys::MemoryConfigError;
use nebula_nic::ConfigError;
use nebula_workload::WorkloadError;

/// Why there is no result. Each is one line that says what would be right.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BlocksError {
    /// A TOML file that is none, or lacks something.
    #[error("this is not {what}: {reason}")]
    Toml {
        /// What was wanted.
        what: &'static str,
        /// Line and reason.
        reason: String,
    },
    /// A key to change that is none.
    #[error("the machine has no number {key:?}: give a key of its TOML with its sections, such as core.load_window")]
    Key {
        /// The key.
        key: String,
    },
    /// A value outside what is possible.
    #[error("{name} = {got} is not possible: give {least} to {most}")]
    Parameter {
        /// The field, with its section.
        name: &'static str,
        /// Its value.
        got: f64,
        /// The least that is possible.
        least: f64,
        /// The most that is possible.
        most: f64,
    },
    /// Another program that leaves no bandwidth.
    #[error("a hog of {got} GB/s is not possible beside others: give 0 to {most}, eight tenths of what DRAM can move")]
    Hog {
        /// 10⁹ bytes a second asked for.
        got: f64,
        /// The most that is possible.
        most: f64,
    },
    /// Shares that do not make a whole.
    #[error("the shares of the RPC types add up to {got}: give shares that add up to 1")]
    Shares {
        /// What they add up to.
        got: f64,
    },
    /// The memory of machine and application is larger than a block number can say.
    #[error("{what} take {blocks} blocks of 64 bytes with what is before them: give less than {most}", most = u32::MAX)]
    Room {
        /// What has no room.
        what: &'static str,
        /// Blocks up to its end.
        blocks: u64,
    },
    /// An RPC that no receive buffer could hold.
    #[error(
        "a request of {bytes} bytes does not fit the receive buffer of {buffer_bytes} bytes: enlarge deployment.receive_buffer_bytes"
    )]
    Request {
        /// Bytes of the request.
        bytes: u32,
        /// Bytes of the buffer.
        buffer_bytes: u32,
    },
    /// Even the lowest rate misses the SLO.
    #[error(
        "{design} misses the SLO of {slo_ns} ns at the lowest rate that was tried already: its p99 there is {p99_ns} ns"
    )]
    Slo {
        /// The design.
        design: String,
        /// The SLO.
        slo_ns: f64,
        /// The p99 at the lowest rate.
        p99_ns: f64,
    },
    /// Of how much is to be simulated.
    #[error(transparent)]
    Effort(#[from] SimError),
    /// Of the memory system.
    #[error(transparent)]
    Memory(#[from] MemoryConfigError),
    /// Of the back end.
    #[error(transparent)]
    Backend(#[from] ConfigError),
    /// Of rates, arrivals and service times.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
}

impl BlocksError {
    /// A file that cannot be read, on one line.
    pub(super) fn toml(what: &'static str, text: &str, error: &toml::de::Error) -> Self {
        Self::Toml { what, reason: toml_reason(text, error) }
    }
}
