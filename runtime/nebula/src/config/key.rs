//! The keys of `udp://`, which server and clients share and others lack.

use nebula_files::{Exposed, Others};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

/// The key that a server and its clients share: 32 bytes. Dropping it overwrites its memory.
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
    /// If the kernel returns no random bytes.
    pub fn random() -> std::io::Result<Self> {
        crate::net::random_bytes().map(Self)
    }

    /// The key as hexadecimal digits, which parse to the same key. They are as secret as the key.
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

impl Zeroize for Key {
    fn zeroize(&mut self) {
        self.0.zeroize();
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        self.zeroize();
    }
}

impl ZeroizeOnDrop for Key {}

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
        let mut key = Self([0; Self::BYTES]);
        for (byte, pair) in key.0.iter_mut().zip(text.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Ok(key)
    }
}

/// Named keys, as in a key file: the first is used to send, all are accepted.
///
/// A line is a name and a key, or a key alone, which has no name. `#` begins a comment; empty lines
/// are ignored. Keys of one name belong to one owner: a client may change from one to another and
/// stays the same client. So a key is replaced without losing an RPC:
///
/// 1. the server's file gains the new key under the old one's name;
/// 2. the clients' files get the new key as their first;
/// 3. the old key's line is deleted everywhere.
///
/// # Examples
///
/// ```
/// let keys: nebula::Keys = "
///     ann  000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f  # a tenant
///     bob  202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f
/// ".parse()?;
/// assert_eq!(keys.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["ann", "bob"]);
/// assert_eq!("ann too-short".parse::<nebula::Keys>().unwrap_err().to_string(),
///     "line 1: a key is 64 hexadecimal digits: make one with: nebula keygen FILE");
/// # Ok::<(), nebula::KeysError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keys {
    named: Vec<(String, Key)>,
}

/// The most keys of a file, and bytes: a thousand lines.
const KEYS_MAX: usize = 1024;
const FILE_BYTES_MAX: u64 = 256 << 10;
const NAME_BYTES_MAX: usize = 64;

/// A text that is not a list of keys.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeysError {
    /// A key is not well-formed.
    #[error("line {line}: {error}")]
    Key {
        /// Counted from 1.
        line: usize,
        /// Why.
        error: KeyError,
    },
    /// A line that is neither `KEY` nor `NAME KEY`.
    #[error("line {line}: write a name of up to 64 of a-z, A-Z, 0-9, '.', '_' and '-', and a key")]
    Line {
        /// Counted from 1.
        line: usize,
    },
    /// The same key twice: its owner would be ambiguous.
    #[error("line {line}: this key is in a line before it")]
    Twice {
        /// Counted from 1.
        line: usize,
    },
    /// No key.
    #[error("there is no key in it: make one with: nebula keygen FILE")]
    None,
    /// Too many keys.
    #[error("more than {KEYS_MAX} keys")]
    TooMany,
}

/// A key file that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyFileError {
    /// It cannot be read.
    #[error("cannot read {}: {cause}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The kernel's reason.
        cause: std::io::Error,
    },
    /// Other users of the machine can read it.
    #[error("{file} can be read by others, and so could be everything sent: chmod 600 {file}", file = path.display())]
    Open {
        /// The file.
        path: PathBuf,
    },
    /// It is another user's, who can read and write it.
    #[error("{file} belongs to another user, who can read and change it: chown $USER {file}", file = path.display())]
    Owner {
        /// The file.
        path: PathBuf,
    },
    /// It is a device or a folder, or far too long.
    #[error("{} is no key file: a regular file of up to {FILE_BYTES_MAX} bytes is wanted", path.display())]
    NoFile {
        /// The file.
        path: PathBuf,
    },
    /// Its text is not a list of keys.
    #[error("{}: {error}", path.display())]
    Text {
        /// The file.
        path: PathBuf,
        /// Why.
        error: KeysError,
    },
}

impl Keys {
    /// Reads a key file, which only its owner may be able to read.
    ///
    /// # Errors
    ///
    /// [`KeyFileError`]: it cannot be read, others own it or can read it, it is no regular file, or
    /// too long, or its text is not a list of keys.
    pub fn read_file(path: impl AsRef<Path>) -> Result<Self, KeyFileError> {
        let path = path.as_ref();
        let cannot = |cause: std::io::Error| match cause.kind() {
            ErrorKind::InvalidData => KeyFileError::NoFile { path: path.to_owned() },
            _ => KeyFileError::Read { path: path.to_owned(), cause },
        };
        let file = nebula_files::open(path).map_err(cannot)?;
        let about = file.metadata().map_err(cannot)?;
        if about.len() > FILE_BYTES_MAX {
            return Err(KeyFileError::NoFile { path: path.to_owned() });
        }
        nebula_files::check_owner(&about, Others::MayNothing).map_err(|exposed| match exposed {
            Exposed::Owner => KeyFileError::Owner { path: path.to_owned() },
            Exposed::Written | Exposed::Read => KeyFileError::Open { path: path.to_owned() },
        })?;
        // As long as the text, since a buffer that grows would leave parts of the keys in memory.
        let mut text = Zeroizing::new(String::with_capacity(usize::try_from(about.len()).unwrap_or(0) + 1));
        file.take(FILE_BYTES_MAX).read_to_string(&mut text).map_err(cannot)?;
        text.parse().map_err(|error| KeyFileError::Text { path: path.to_owned(), error })
    }

    /// The names and keys, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Key)> {
        self.named.iter().map(|(name, key)| (name.as_str(), key))
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.named.is_empty()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.named.len()
    }
}

impl From<Key> for Keys {
    fn from(key: Key) -> Self {
        Self { named: vec![(String::new(), key)] }
    }
}

impl std::str::FromStr for Keys {
    type Err = KeysError;

    fn from_str(text: &str) -> Result<Self, KeysError> {
        let mut keys = Self::default();
        for (line, text) in (1..).zip(text.lines()) {
            let text = text.split('#').next().unwrap_or_default();
            let mut words = text.split_whitespace();
            let (name, key) = match (words.next(), words.next(), words.next()) {
                (None, ..) => continue,
                (Some(key), None, _) => ("", key),
                (Some(name), Some(key), None) if is_name(name) => (name, key),
                _ => return Err(KeysError::Line { line }),
            };
            let key: Key = key.parse().map_err(|error| KeysError::Key { line, error })?;
            if keys.named.iter().any(|(_, other)| *other == key) {
                return Err(KeysError::Twice { line });
            }
            keys.named.push((name.to_owned(), key));
            if keys.len() > KEYS_MAX {
                return Err(KeysError::TooMany);
            }
        }
        if keys.is_empty() { Err(KeysError::None) } else { Ok(keys) }
    }
}

pub(super) fn is_name(word: &str) -> bool {
    word.len() <= NAME_BYTES_MAX && word.bytes().all(|c| c.is_ascii_alphanumeric() || b"._-".contains(&c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn hex(byte: u8) -> String {
        Key::new([byte; 32]).to_hex()
    }

    #[test]
    fn lines_that_are_no_keys_say_which_they_are() {
        let parse = |text: String| text.parse::<Keys>().unwrap_err();
        let [one, two] = [1, 2].map(hex);
        assert_eq!(parse(format!("{one}\n\nann {two} three")), KeysError::Line { line: 3 });
        assert_eq!(parse(format!("{one}\na/b {two}")), KeysError::Line { line: 2 });
        assert_eq!(parse(format!("{one}\n{}", &two[1..])), KeysError::Key { line: 2, error: KeyError });
        assert_eq!(parse(format!("ann {one}\nbob {one}")), KeysError::Twice { line: 2 });
        assert_eq!(parse("# none".into()), KeysError::None);
        let many = (0..=KEYS_MAX).map(|n| format!("{n:064x}\n")).collect();
        assert_eq!(parse(many), KeysError::TooMany);
    }

    #[test]
    fn any_text_is_read_without_a_panic() {
        nebula_testing::seeded(|u| {
            let text: String = u.arbitrary()?;
            let _ = text.parse::<Keys>();
            Ok(())
        });
    }

    #[test]
    fn a_file_is_read_if_it_is_one_and_nobody_else_can_read_it() {
        let path = std::env::temp_dir().join(format!("nebula-keys-{}", std::process::id()));
        std::fs::write(&path, format!("ann {}\n", hex(1))).unwrap();
        let chmod = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        for mode in [0o640, 0o604, 0o620] {
            chmod(mode);
            let error = Keys::read_file(&path).unwrap_err();
            assert!(error.to_string().ends_with(&format!("chmod 600 {}", path.display())), "{error}");
        }
        chmod(0o600);
        assert_eq!(Keys::read_file(&path).unwrap().iter().next(), Some(("ann", &Key::new([1; 32]))));
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&path, Some(12345), None).unwrap();
            assert!(matches!(Keys::read_file(&path), Err(KeyFileError::Owner { .. })));
            std::os::unix::fs::chown(&path, Some(0), None).unwrap();
        }
        std::fs::File::options().write(true).open(&path).unwrap().set_len(1 << 40).unwrap();
        for other in [path.as_path(), Path::new("/dev/zero"), Path::new("/")] {
            assert!(matches!(Keys::read_file(other), Err(KeyFileError::NoFile { .. })), "{}", other.display());
        }
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(Keys::read_file(&path), Err(KeyFileError::Read { .. })));
    }

    #[test]
    fn a_key_is_overwritten_when_it_is_dropped() {
        fn wiped<T: ZeroizeOnDrop>(_: &T) {}
        let mut key = Key::new([7; 32]);
        wiped(&key);
        key.zeroize();
        assert_eq!(key.0, [0; 32]);
    }
}
