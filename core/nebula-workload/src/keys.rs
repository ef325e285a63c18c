//! The keys of operations.
//!
//! A [`Keys`] names a popularity and has one spelling everywhere; [`Keys::over`] gives it a number
//! of keys and makes a [`KeyPicker`]. A key is an index ([`Key`]); [`key_bytes`] makes its bytes on
//! the wire, the same in the loader that fills the store and in the clients that read it.

use std::fmt;
use std::str::FromStr;

use crate::error::WorkloadError;
use crate::rng::{Rng, scramble};
use crate::zipf::Zipf;

/// The length of a key on the wire unless a workload specifies another, from the key-value
/// evaluations of NEBULA, RPCValet and MICA.
pub const KEY_BYTES: usize = 16;

/// The fewest bytes that hold any key.
pub const KEY_BYTES_MIN: usize = 8;

/// A key, as the index into the population of keys.
///
/// # Examples
///
/// ```
/// use nebula_workload::Key;
///
/// assert_eq!(Key(1).to_bytes(), Key(1).to_bytes());
/// assert_ne!(Key(1).to_bytes(), Key(2).to_bytes());
/// assert_eq!(&Key(258).to_bytes()[..8], &[2, 1, 0, 0, 0, 0, 0, 0]);
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(pub u64);

impl Key {
    /// The key's 16 bytes: [`key_bytes`] of the usual length.
    #[must_use]
    #[inline]
    pub fn to_bytes(self) -> [u8; KEY_BYTES] {
        let mut bytes = [0; KEY_BYTES];
        key_bytes(self, &mut bytes);
        bytes
    }
}

/// Fills `bytes` with the bytes of `key`, as long as `bytes`.
///
/// The index in little-endian order, then bits derived from it: two keys of equal length differ,
/// and a store that hashes only the end of a key still sees 64 mixed bits.
///
/// # Panics
///
/// If `bytes` is shorter than [`KEY_BYTES_MIN`]: two keys could then be the same.
#[inline]
pub fn key_bytes(key: Key, bytes: &mut [u8]) {
    assert!(bytes.len() >= KEY_BYTES_MIN, "a key needs at least {KEY_BYTES_MIN} bytes, got {}", bytes.len());
    let mut word = key.0;
    for chunk in bytes.chunks_mut(8) {
        chunk.copy_from_slice(&word.to_le_bytes()[..chunk.len()]);
        word = scramble(word);
    }
}

/// How popular each key is: `uniform` or `zipf:THETA`.
///
/// # Examples
///
/// ```
/// use nebula_workload::{Keys, Seed};
///
/// let keys: Keys = "zipf:0.99".parse()?;
/// let mut picker = keys.over(1_600_000)?;
/// let key = picker.next_key(&mut Seed(1).stream("keys"));
/// assert!(key.0 < 1_600_000);
/// # Ok::<(), nebula_workload::WorkloadError>(())
/// ```
#[derive(Copy, Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Keys {
    /// Every key is equally likely.
    #[default]
    Uniform,
    /// The key of index k has a share proportional to 1/(k+1)^`theta`.
    Zipf {
        /// The skew, above 0 and at most [`Keys::THETA_MAX`]; caches are usually tested at 0.99.
        theta: f64,
    },
}

impl Keys {
    /// The largest skew: the second key then has 0.1 % of the first one's share.
    pub const THETA_MAX: f64 = 10.0;

    /// The picker for keys `0..count`, in O(1): nothing is computed or stored for each key.
    ///
    /// # Errors
    ///
    /// [`WorkloadError::OutOfRange`] for a `count` of 0 or above 2⁵³, and for a `theta` outside
    /// `0..=` [`THETA_MAX`](Self::THETA_MAX).
    pub fn over(self, count: u64) -> Result<KeyPicker, WorkloadError> {
        check_count(count)?;
        Ok(KeyPicker(match self {
            Self::Uniform => Picker::Uniform { count },
            Self::Zipf { theta } => Picker::Zipf(Zipf::new(count, checked_theta(theta)?)),
        }))
    }
}

fn check_count(count: u64) -> Result<(), WorkloadError> {
    let expected = "use 1 to 2^53 keys";
    let is_allowed = (1..=1 << 53).contains(&count);
    is_allowed.then_some(()).ok_or(WorkloadError::OutOfRange { what: "number of keys", got: count as f64, expected })
}

fn checked_theta(theta: f64) -> Result<f64, WorkloadError> {
    let expected = "use more than 0 and at most 10, such as 0.99";
    let is_allowed = theta > 0.0 && theta <= Keys::THETA_MAX;
    is_allowed.then_some(theta).ok_or(WorkloadError::OutOfRange { what: "zipf theta", got: theta, expected })
}

impl FromStr for Keys {
    type Err = WorkloadError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "uniform" {
            return Ok(Self::Uniform);
        }
        let theta = text.strip_prefix("zipf:").and_then(|theta| theta.parse().ok());
        let theta = theta.ok_or_else(|| WorkloadError::spelling("keys", text, "uniform or zipf:0.99"))?;
        Ok(Self::Zipf { theta: checked_theta(theta)? })
    }
}

impl fmt::Display for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uniform => f.write_str("uniform"),
            Self::Zipf { theta } => write!(f, "zipf:{theta}"),
        }
    }
}

/// Draws keys of one popularity from one population.
///
/// Under `zipf`, `Key(0)` is the most popular, then `Key(1)`, and so on; stores hash them.
///
/// # Examples
///
/// ```
/// use nebula_workload::{Key, Keys, Seed};
///
/// let mut picker = Keys::Zipf { theta: 2.0 }.over(1000)?;
/// let mut rng = Seed(1).stream("keys");
/// let first = (0..1000).filter(|_| picker.next_key(&mut rng) == Key(0)).count();
/// assert!((550..670).contains(&first), "6 / π² of them: {first}");
/// # Ok::<(), nebula_workload::WorkloadError>(())
/// ```
#[derive(Clone, Debug)]
pub struct KeyPicker(Picker);

#[derive(Clone, Debug)]
enum Picker {
    Uniform { count: u64 },
    Zipf(Zipf),
}

impl KeyPicker {
    /// Draws the next key in O(1), without allocation; `zipf` takes a logarithm and an exponential,
    /// and a second attempt for fewer than 2 % of the draws.
    #[inline]
    pub fn next_key(&mut self, rng: &mut Rng) -> Key {
        Key(match &self.0 {
            Picker::Uniform { count } => rng.below(*count),
            Picker::Zipf(zipf) => zipf.draw(rng) - 1,
        })
    }
}
