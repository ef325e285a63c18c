//! The expiry of an item, from the client's terms to an absolute time.

/// A larger expiry is a time of the Unix clock, a smaller one a time from now: 30 days, in seconds.
pub const RELATIVE_MAX: i32 = 60 * 60 * 24 * 30;

/// The expiry of an item in seconds of a clock: 0 for never, 1 for expired. `now` is above 1.
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
