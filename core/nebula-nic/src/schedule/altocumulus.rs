//! `altocumulus:G`: *which waiting RPCs go to which other group?*
//!
//! Cores are divided into groups, each with one queue and one manager. Every period, a manager
//! compares its queue with a threshold trained for the current load: RPCs beyond it would miss the
//! SLO. It then reads the lengths that the other groups last published, classifies them, and hands
//! over its newest waiting RPCs before they miss the SLO.
//!
//! ```text
//!   Hill                     Valley                   Pairing
//!   #                        # # # #                  #
//!   # → → → to the           # # # # → to the         # #     longest → shortest,
//!   #   shortest ones        # # # #   one short      # # # . second → second shortest, …
//!   # . . . .                # # # # .                # # # # .
//! ```
//!
//! An RPC moves at most once: [`Backend::take_newest_waiting`](crate::Backend::take_newest_waiting)
//! chooses among the others.

mod load_estimate;
pub(crate) mod manager;
mod pattern;
pub(crate) mod thresholds;

pub use load_estimate::LoadEstimate;
pub use manager::{Manager, ManagerConfig, ManagerConfigError, Migration};
pub use pattern::{Pattern, PatternCounts};
pub use thresholds::{ThresholdRow, Thresholds, ThresholdsError};
