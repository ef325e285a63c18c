//! When an item expires: what a client says, made absolute.

/// Up to here a client's expiry is a time from now, beyond it one of the Unix clock: 30 days, in
/// seconds.
pub const RELATIVE_MAX: i32 = 60 * 60 * 24 * 30;

/// The expiry of an item, in seconds of a clock whose `now` is a number above 1: 0 for never, 1 for
/// one that is over already.
///
/// `unix_now` is the same moment on the Unix clock.
///
/// ```
/// use nebula_memcached::time::expires;
/// let (now, unix_now) = (1000, 1_700_000_000);
/// assert_eq!(expires(0, now, unix_now), 0);
/// assert_eq!(expires(60, now, unix_now), 1060);
/// assert_eq!(expires(1_700_000_010, now, unix_now), 1010);
/// assert_eq!(expires(1_600_000_000, now, unix_now), 1);
/// assert_eq!(expires(-1, now, unix_now), 1);
/// ```
#[must_use]
pub fn expires(exptime: i32, now: u32, unix_now: u64) -> u32 {
    match u32::try_from(exptime) {
        Err(_) => 1,
        Ok(0) => 0,
        Ok(seconds) if exptime <= RELATIVE_MAX => now.saturating_add(seconds),
        Ok(at) => {
            let left = u64::from(at).saturating_sub(unix_now);
            if left == 0 { 1 } else { now.saturating_add(u32::try_from(left).unwrap_or(u32::MAX)) }
        }
    }
}
