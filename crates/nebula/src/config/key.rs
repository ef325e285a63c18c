//! The key of `udp://`: what server and clients share, so that nobody else can take part.

/// The key that a server and its clients share: 32 bytes.
///
/// # Examples
///
/// ```
/// let key: nebula::Key = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f".parse()?;
/// assert_eq!(format!("{key:?}"), "Key(..)", "it is not printed by accident");
/// assert_eq!(key.to_hex().parse(), Ok(key));
/// assert_ne!(nebula::Key::random()?, nebula::Key::random()?);
/// assert!("too short".parse::<nebula::Key>().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Key(pub(crate) [u8; Key::BYTES]);

/// A text that is not a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a key is {digits} hexadecimal digits: make one with: nebula keygen FILE", digits = 2 * Key::BYTES)]
pub struct KeyError;

impl Key {
    /// Length of a key.
    pub const BYTES: usize = 32;

    /// A new key, of random bytes from the kernel.
    ///
    /// # Errors
    ///
    /// When the kernel returns none.
    pub fn random() -> std::io::Result<Self> {
        crate::net::random_bytes().map(Self)
    }

    /// The key as hexadecimal digits, as it is parsed. They are as secret as the key.
    #[must_use]
    pub fn to_hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// A key of these bytes, which must be random.
    #[must_use]
    pub const fn new(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(..)")
    }
}

impl std::str::FromStr for Key {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let text = text.trim().as_bytes();
        if text.len() != 2 * Self::BYTES {
            return Err(KeyError);
        }
        let digit = |c: u8| char::from(c).to_digit(16).and_then(|digit| u8::try_from(digit).ok()).ok_or(KeyError);
        let mut bytes = [0; Self::BYTES];
        for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Ok(Self(bytes))
    }
}
