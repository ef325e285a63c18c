//! `altocumulus:G`: *which waiting RPCs go to which other group?*
//!
//! Cores are parted into groups, each with one queue and one manager. Every period a manager compares its queue with a threshold that was
//! trained for the load at hand: RPCs beyond it would miss the SLO. It then looks at the lengths that the others have
//! published last, classifies the whole vector, and hands the newest of its waiting RPCs over, before they have missed anything.
//!
//! ```text
//!   Hill                     Valley                   Pairing
//!   #                        # # # #                  #
//!   # → → → to the           # # # # → to the         # #     longest → shortest,
//!   #   shortest ones        # # # #   one short      # # # . second → second shortest, …
//!   # . . . .                # # # # .                # # # # .
//! ```
//!
//! Who may be handed over at all is [`Backend::take_newest_waiting`](crate::Backend::take_newest_waiting)'s to say: an RPC moves at most once.

mod load_estimate;
mod manager;
mod pattern;
mod thresholds;

pub use load_estimate::LoadEstimate;
pub use manager::{Manager, ManagerConfig, ManagerConfigError, Migration};
pub use pattern::Pattern;
pub use thresholds::{ThresholdRow, Thresholds, ThresholdsError};
