//! The set-ups of ZygOS.

use super::side_by_side::SideBySide;
use serde::Deserialize;

/// All set-ups.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ZygosSetup {
    /// Against an ideal queue without overhead.
    pub efficiency: SideBySide,
    /// Against IX.
    pub silo: SideBySide,
}
