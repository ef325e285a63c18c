//! Why the client of an RPC waits no more: it has cancelled, or its deadline has passed.
//!
//! The NIC asks when the RPC arrives, and a core asks before it begins the RPC. An RPC whose client
//! waits no more is refused and not executed. A handler may ask again while it runs.

use crate::time::Timestamp;
use crate::verdict::NackReason;

/// The deadline of an RPC whose client waits for as long as it takes.
pub const NEVER: Timestamp = Timestamp::from_ps(u64::MAX);

/// Why the client of an RPC waits no more; `None` if it waits.
///
/// `now` reads the clock, and is called only if there is a deadline to compare with.
///
/// # Examples
///
/// ```
/// use nebula_nic::ending::{NEVER, over};
/// use nebula_nic::{NackReason, Timestamp};
///
/// let now = || Timestamp::from_ps(500);
/// assert_eq!(over(Timestamp::from_ps(501), false, now), None);
/// assert_eq!(over(Timestamp::from_ps(500), false, now), Some(NackReason::Expired));
/// assert_eq!(over(Timestamp::from_ps(500), true, now), Some(NackReason::Cancelled));
/// assert_eq!(over(NEVER, false, || unreachable!()), None);
/// ```
#[must_use]
#[inline(always)]
pub fn over(deadline: Timestamp, is_cancelled: bool, now: impl FnOnce() -> Timestamp) -> Option<NackReason> {
    if is_cancelled {
        return Some(NackReason::Cancelled);
    }
    if deadline != NEVER && deadline <= now() { Some(NackReason::Expired) } else { None }
}
