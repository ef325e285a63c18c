//! Errors of the block level.

use crate::error::SimError;
use nebula_memsys::MemoryConfigError;
use nebula_nic::ConfigError;
use nebula_workload::WorkloadError;
use nebula_workload::from_toml::toml_reason;

/// Why a simulation has no result. Each message is one line and says what to change.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BlocksError {
    /// The TOML file is not valid.
    #[error("this is not {what}: {reason}")]
    Toml {
        /// The kind of file that was expected.
        what: &'static str,
        /// The line and the reason.
        reason: String,
    },
    /// The settings of a design contradict each other.
    #[error("the design: {reason}")]
    Design {
        /// The contradiction, and what to change.
        reason: &'static str,
    },
    /// The machine has no number with this key.
    #[error("the machine has no number {key:?}: give a key of its TOML with its sections, such as core.load_window")]
    Key {
        /// The requested key.
        key: String,
    },
    /// The value is outside its range.
    #[error("{name} = {got} is not possible: give {least} to {most}")]
    Parameter {
        /// The field, with its section.
        name: &'static str,
        /// Its value.
        got: f64,
        /// The least possible value.
        least: f64,
        /// The greatest possible value.
        most: f64,
    },
    /// The other program leaves too little DRAM bandwidth.
    #[error("a hog of {got} GB/s leaves too little bandwidth: give 0 to {most}, eight tenths of what DRAM can move")]
    Hog {
        /// Requested traffic in 10⁹ bytes per second.
        got: f64,
        /// The greatest possible value.
        most: f64,
    },
    /// The shares of the RPC types do not add up to 1.
    #[error("the shares of the RPC types add up to {got}: give shares that add up to 1")]
    Shares {
        /// Their sum.
        got: f64,
    },
    /// The memory of machine and application exceeds the range of block numbers.
    #[error("{what} take {blocks} blocks of 64 bytes with what is before them: give less than {most}", most = u32::MAX)]
    Room {
        /// The region that does not fit.
        what: &'static str,
        /// Blocks up to its end.
        blocks: u64,
    },
    /// The request is larger than the receive buffer.
    #[error(
        "a request of {bytes} bytes does not fit the receive buffer of {buffer_bytes} bytes: enlarge deployment.receive_buffer_bytes"
    )]
    Request {
        /// Bytes of the request.
        bytes: u32,
        /// Bytes of the buffer.
        buffer_bytes: u32,
    },
    /// The lowest rate misses the SLO.
    #[error("{design} misses the SLO of {slo_ns} ns already at the lowest rate: its p99 there is {p99_ns} ns")]
    Slo {
        /// The design.
        design: String,
        /// The SLO.
        slo_ns: f64,
        /// The p99 at the lowest rate.
        p99_ns: f64,
    },
    /// The effort or the load is invalid.
    #[error(transparent)]
    Effort(#[from] SimError),
    /// An error of the memory system.
    #[error(transparent)]
    Memory(#[from] MemoryConfigError),
    /// An error of the NIC's back end.
    #[error(transparent)]
    Backend(#[from] ConfigError),
    /// An error of rates, arrivals or service times.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
}

impl From<BlocksError> for nebula_ui::Failure {
    fn from(error: BlocksError) -> Self {
        Self::bad_input(error)
    }
}

impl BlocksError {
    pub(super) fn toml(what: &'static str, text: &str, error: &toml::de::Error) -> Self {
        Self::Toml { what, reason: toml_reason(text, error) }
    }
}
