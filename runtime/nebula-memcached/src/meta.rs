//! The meta commands: a key, and flags of one character that may carry a word.

use crate::KEY_BYTES_MAX;
use crate::answer;
use crate::request::value;
use crate::tokens::{Tokens, flags, signed, unsigned};
use data_encoding::BASE64;

/// With its flag.
const OPAQUE_BYTES_MAX: usize = 32;
const VALUE_BYTES_MAX: i32 = i32::MAX - 2;

/// The meta command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `mg`
    Get,
    /// `ms`
    Set,
    /// `md`
    Delete,
    /// `ma`
    Arithmetic,
    /// `me`
    Debug,
}

/// The way in which `ms` stores, or `ma` counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Always.
    Set,
    /// If there is no item.
    Add,
    /// If there is an item.
    Replace,
    /// Behind the value.
    Append,
    /// Before the value.
    Prepend,
    /// Upwards.
    Increment,
    /// Downwards.
    Decrement,
}

/// A key in the request and in the store.
#[derive(Clone, Copy, Debug)]
pub struct Key<'a> {
    /// As in the request.
    pub written: &'a [u8],
    /// Whether that is base64.
    pub is_base64: bool,
    decoded: [u8; KEY_BYTES_MAX],
    bytes: usize,
}

impl Key<'_> {
    /// As in the store.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        if self.is_base64 { &self.decoded[..self.bytes] } else { self.written }
    }
}

/// A meta command.
#[derive(Clone, Copy, Debug)]
pub struct Meta<'a> {
    /// The command.
    pub kind: Kind,
    /// The item.
    pub key: Key<'a>,
    /// The flags, in the order of the request and of its answer.
    pub flags: Tokens<'a>,
    /// `q`: no answer in the expected case.
    pub is_quiet: bool,
    /// `v`: the value is wanted.
    pub with_value: bool,
    /// `C`: the CAS number that the item must have.
    pub cas: Option<u64>,
    /// `F`: the client's flags.
    pub client_flags: u32,
    /// `T`: the expiry that the item gets.
    pub exptime: Option<i32>,
    /// `N`: creates a missing item with this expiry.
    pub vivify: Option<i32>,
    /// `R`: with less time left than this, one client is to fetch the value again.
    pub recache: Option<i32>,
    /// `I`: declares stale instead of deleting; stores an older value as stale.
    pub invalidates: bool,
    /// `M`
    pub mode: Mode,
    /// `D`
    pub delta: u64,
    /// `J`
    pub initial: u64,
    /// The value of `ms`; `None` if it was too long and was skipped.
    pub value: Option<&'a [u8]>,
    /// Whether the value ends at the length in the line.
    pub is_whole: bool,
}

/// Bytes of the value behind a line of `ms`, if there is one.
pub(crate) fn value_bytes(mut tokens: Tokens<'_>) -> Option<usize> {
    let key = tokens.nth(1)?;
    let bytes = tokens.next().and_then(signed)?;
    usize::try_from(bytes).ok().filter(|_| bytes <= VALUE_BYTES_MAX && key.len() <= KEY_BYTES_MAX)
}

impl<'a> Meta<'a> {
    /// Reads the words behind the command `m` with the character `sign`; `behind` are the bytes
    /// behind its line.
    pub(crate) fn parse(sign: u8, mut tokens: Tokens<'a>, behind: &'a [u8]) -> Result<Self, &'static [u8]> {
        let kind = match sign {
            b'g' => Kind::Get,
            b's' => Kind::Set,
            b'd' => Kind::Delete,
            b'a' => Kind::Arithmetic,
            _ => Kind::Debug,
        };
        let key = match (tokens.next(), kind) {
            (Some(key), _) if key.len() <= KEY_BYTES_MAX => key,
            (None, Kind::Get | Kind::Set | Kind::Delete | Kind::Arithmetic) => return Err(answer::ERROR),
            _ => return Err(answer::BAD_LINE),
        };
        let mut meta = Self::of(kind, key);
        if kind == Kind::Set {
            let bytes = tokens.next().and_then(signed).filter(|bytes| (0..=VALUE_BYTES_MAX).contains(bytes));
            let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok()).ok_or(answer::BAD_LINE)?;
            (meta.value, meta.is_whole) = value(behind, bytes);
        }
        meta.flags = tokens;
        meta.read_flags()?;
        Ok(meta)
    }

    fn of(kind: Kind, key: &'a [u8]) -> Self {
        Self {
            kind,
            key: Key { written: key, is_base64: false, decoded: [0; KEY_BYTES_MAX], bytes: 0 },
            flags: Tokens::new(&[]),
            is_quiet: false,
            with_value: false,
            cas: None,
            client_flags: 0,
            exptime: None,
            vivify: None,
            recache: None,
            invalidates: false,
            mode: if kind == Kind::Arithmetic { Mode::Increment } else { Mode::Set },
            delta: 1,
            initial: 0,
            value: None,
            is_whole: true,
        }
    }

    /// Refuses a flag that occurs twice.
    fn read_flags(&mut self) -> Result<(), &'static [u8]> {
        let mut seen = 0_u128;
        // Their errors do not distinguish the two causes.
        let is_terse = matches!(self.kind, Kind::Delete | Kind::Arithmetic);
        for flag in self.flags {
            let sign = flag[0];
            let bit = 1_u128.checked_shl(sign.into()).unwrap_or(0);
            if bit == 0 || seen & bit != 0 {
                return Err(if is_terse { answer::BAD_OR_TWICE } else { answer::TWICE });
            }
            seen |= bit;
            self.read_flag(sign, &flag[1..]).map_err(|error| match error {
                answer::BAD_FLAG | answer::BAD_TOKEN | answer::LONG_MODE | answer::BAD_LINE if is_terse => {
                    answer::BAD_OR_TWICE
                }
                error => error,
            })?;
        }
        Ok(())
    }

    fn read_flag(&mut self, sign: u8, word: &'a [u8]) -> Result<(), &'static [u8]> {
        let time = || signed(word).ok_or(answer::BAD_TOKEN);
        let number = || unsigned(word).ok_or(answer::BAD_TOKEN);
        match sign {
            b'b' => self.decode()?,
            b'q' => self.is_quiet = true,
            b'v' => self.with_value = true,
            b'C' => self.cas = Some(number()?),
            b'F' => self.client_flags = flags(word).ok_or(answer::BAD_LINE)?,
            b'T' => self.exptime = Some(time()?),
            b'N' => self.vivify = Some(time()?),
            b'R' => self.recache = Some(time()?),
            b'I' => self.invalidates = true,
            b'D' => self.delta = number()?,
            b'J' => self.initial = number()?,
            b'M' => self.mode = self.mode_of(word)?,
            b'O' if word.len() >= OPAQUE_BYTES_MAX => return Err(answer::LONG_OPAQUE),
            b'O' | b'k' | b'c' | b'f' | b'h' | b'l' | b's' | b't' => {}
            // `me` uses only the key.
            _ if self.kind == Kind::Debug => {}
            _ => return Err(answer::BAD_FLAG),
        }
        Ok(())
    }

    fn mode_of(&self, word: &[u8]) -> Result<Mode, &'static [u8]> {
        let &[sign] = word else { return Err(answer::LONG_MODE) };
        match (self.kind, sign) {
            (Kind::Arithmetic, b'I' | b'i' | b'+') => Ok(Mode::Increment),
            (Kind::Arithmetic, b'D' | b'd' | b'-') => Ok(Mode::Decrement),
            (Kind::Arithmetic, _) => Err(answer::BAD_NUMBER_MODE),
            (_, b'S' | b's') => Ok(Mode::Set),
            (_, b'E' | b'e') => Ok(Mode::Add),
            (_, b'R' | b'r') => Ok(Mode::Replace),
            (_, b'A' | b'a') => Ok(Mode::Append),
            (_, b'P' | b'p') => Ok(Mode::Prepend),
            (Kind::Set, _) => Err(answer::BAD_SET_MODE),
            _ => Ok(Mode::Set),
        }
    }

    fn decode(&mut self) -> Result<(), &'static [u8]> {
        // 250 characters decode to at most 187 bytes, and may need room for 189.
        let refused = if self.kind == Kind::Debug { answer::BAD_LINE } else { answer::BAD_BASE64 };
        let room = BASE64.decode_len(self.key.written.len()).map_err(|_| refused)?;
        let room = self.key.decoded.get_mut(..room).ok_or(refused)?;
        self.key.bytes = BASE64.decode_mut(self.key.written, room).map_err(|_| refused)?;
        self.key.is_base64 = true;
        if self.key.bytes == 0 { Err(refused) } else { Ok(()) }
    }
}
