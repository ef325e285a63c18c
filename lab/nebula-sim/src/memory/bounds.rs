//! The bounds of what can be simulated.

pub(crate) const BLOCK_BYTES: u64 = 64;

/// Most channels of a run, and most banks of each.
pub(crate) const BANKS_MAX: u32 = 4096;

/// The longest RPC: 1,024 blocks.
pub(crate) const RPC_BYTES_MAX: u32 = 64 * 1024;

/// The highest load; a saturated server stays saturated beyond it.
pub(crate) const LOAD_MAX: f64 = 2.0;

/// Fewest RPCs that give a meaningful tail.
pub(crate) const RPCS_MIN: u64 = 1000;
