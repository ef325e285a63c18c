//! The text commands.

use crate::KEY_BYTES_MAX;
use crate::answer;
use crate::meta::Meta;
pub use crate::tokens::Tokens;
use crate::tokens::{flags, line, signed, unsigned};

const VALUE_BYTES_MAX: i32 = i32::MAX - 2;
/// Only a command with keys may have more words.
const COUNTED: usize = 9;

/// A request.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "a meta command has room for its key in base64; there is one request at a time"
)]
pub enum Request<'a> {
    /// `get`, `gets`, `gat`, `gats`.
    Get(Get<'a>),
    /// `set`, `add`, `replace`, `append`, `prepend`, `cas`.
    Store(Store<'a>),
    /// `delete`.
    Delete {
        /// The item.
        key: &'a [u8],
        /// Whether to send no answer.
        noreply: bool,
    },
    /// `incr`, `decr`.
    Number {
        /// The item.
        key: &'a [u8],
        /// The amount.
        delta: u64,
        /// The direction.
        is_decrement: bool,
        /// Whether to send no answer.
        noreply: bool,
    },
    /// `touch`.
    Touch {
        /// The item.
        key: &'a [u8],
        /// In the client's terms: see [`time`](crate::time).
        exptime: i32,
        /// Whether to send no answer.
        noreply: bool,
    },
    /// `flush_all`.
    FlushAll {
        /// In the client's terms: see [`time`](crate::time); 0 is at once.
        delay: i32,
        /// Whether to send no answer.
        noreply: bool,
    },
    /// `verbosity`, which changes nothing.
    Verbosity {
        /// Whether to send no answer.
        noreply: bool,
    },
    /// `lru_crawler metadump`: the keys, which are all of one class.
    MetaDump,
    /// `stats`, with its arguments.
    Stats(Tokens<'a>),
    /// `version`.
    Version,
    /// `mn`.
    MetaNoop,
    /// The other meta commands.
    Meta(Meta<'a>),
    /// An invalid request.
    Refused {
        /// The answer.
        answer: &'static [u8],
        /// Whether to send no answer.
        noreply: bool,
    },
}

/// A request for the values of keys.
#[derive(Clone, Copy, Debug)]
pub struct Get<'a> {
    /// A key of more than [`KEY_BYTES_MAX`] bytes fails the whole request with
    /// [`BAD_LINE`](answer::BAD_LINE).
    pub keys: Tokens<'a>,
    /// Whether the CAS number is wanted.
    pub with_cas: bool,
    /// The items' new expiry.
    pub exptime: Option<i32>,
}

/// The condition and place of a stored value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
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
    /// If the item has this CAS number.
    Cas,
}

impl Verb {
    #[inline]
    pub(crate) fn of(command: &[u8]) -> Option<Self> {
        Some(match command {
            b"set" => Self::Set,
            b"add" => Self::Add,
            b"replace" => Self::Replace,
            b"append" => Self::Append,
            b"prepend" => Self::Prepend,
            b"cas" => Self::Cas,
            _ => return None,
        })
    }

    /// Words of its command, without and with a last one, which may be `noreply`.
    fn words(self) -> [usize; 2] {
        if self == Self::Cas { [6, 7] } else { [5, 6] }
    }
}

/// A request to store a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Store<'a> {
    /// The command.
    pub verb: Verb,
    /// The item.
    pub key: &'a [u8],
    /// The client's flags.
    pub flags: u32,
    /// In the client's terms: see [`time`](crate::time).
    pub exptime: i32,
    /// The CAS number of `cas`.
    pub cas: u64,
    /// The value; `None` if it was too long and was skipped.
    pub value: Option<&'a [u8]>,
    /// Whether the value ends at the length in the line.
    pub is_whole: bool,
    /// Whether to send no answer.
    pub noreply: bool,
}

struct Line<'a> {
    key: &'a [u8],
    flags: u32,
    exptime: i32,
    value_bytes: usize,
    cas: u64,
}

enum NoStore {
    /// The number of words is wrong.
    Words,
    /// A word is wrong.
    Format,
}

impl<'a> Line<'a> {
    #[inline]
    fn read(verb: Verb, mut tokens: Tokens<'a>) -> Result<Self, NoStore> {
        let count = tokens.count_up_to(COUNTED);
        if !verb.words().contains(&count) {
            return Err(NoStore::Words);
        }
        tokens.next();
        let key = tokens.next().unwrap_or_default();
        let mut read = || {
            let flags = flags(tokens.next()?)?;
            let exptime = signed(tokens.next()?)?;
            let bytes = signed(tokens.next()?)?;
            let value_bytes = usize::try_from(bytes).ok().filter(|_| bytes <= VALUE_BYTES_MAX)?;
            let cas = if verb == Verb::Cas { unsigned(tokens.next()?)? } else { 0 };
            Some(Self { key, flags, exptime, value_bytes, cas })
        };
        if key.len() > KEY_BYTES_MAX { Err(NoStore::Format) } else { read().ok_or(NoStore::Format) }
    }
}

/// Bytes of the value behind a line, if there is one.
#[inline]
pub(crate) fn value_bytes(verb: Verb, tokens: Tokens<'_>) -> Option<usize> {
    Line::read(verb, tokens).ok().map(|line| line.value_bytes)
}

/// The value behind a line, and whether it ends at `value_bytes`; no value if it was skipped.
pub(crate) fn value(behind: &[u8], value_bytes: usize) -> (Option<&[u8]>, bool) {
    match behind.split_at_checked(value_bytes) {
        Some((value, end)) if !end.is_empty() => (Some(value), end == b"\r\n"),
        _ => (None, true),
    }
}

impl<'a> Request<'a> {
    /// Reads one request, a piece of a stream as [`frame`](crate::frame) cuts it. Any bytes have an
    /// answer.
    ///
    /// # Cost
    ///
    /// One pass over the words of its line; keys are not copied.
    #[must_use]
    #[inline]
    pub fn parse(request: &'a [u8]) -> Self {
        let (text, line_bytes) = line(request).unwrap_or((request, request.len()));
        let mut tokens = Tokens::new(text);
        let command = tokens.next().unwrap_or_default();
        match command {
            b"get" => get(tokens, false),
            b"gets" => get(tokens, true),
            _ => other(command, Tokens::new(text), tokens, &request[line_bytes..]),
        }
    }
}

#[inline]
fn get(keys: Tokens<'_>, with_cas: bool) -> Request<'_> {
    if { keys }.next().is_none() {
        return refused(answer::ERROR);
    }
    Request::Get(Get { keys, with_cas, exptime: None })
}

fn refused<'a>(answer: &'static [u8]) -> Request<'a> {
    Request::Refused { answer, noreply: false }
}

/// All commands but `get` and `gets`. `behind` are the bytes behind the line.
fn other<'a>(command: &'a [u8], whole: Tokens<'a>, arguments: Tokens<'a>, behind: &'a [u8]) -> Request<'a> {
    if let Some(verb) = Verb::of(command) {
        return store(verb, whole, behind);
    }
    let words = whole.count_up_to(COUNTED);
    let noreply = words > 1 && whole.last_one() == Some(b"noreply");
    let refuse = |answer| Request::Refused { answer, noreply };
    let (mut tokens, line) = (arguments, (words, noreply));
    match command {
        b"gat" | b"gats" => get_and_touch(arguments, command == b"gats"),
        b"delete" if (2..=4).contains(&words) => delete(arguments, line),
        b"incr" | b"decr" if (3..=4).contains(&words) => number(arguments, noreply, command == b"decr"),
        b"touch" if (3..=4).contains(&words) => {
            let key = tokens.next().unwrap_or_default();
            match tokens.next().and_then(signed) {
                _ if key.len() > KEY_BYTES_MAX => refuse(answer::BAD_LINE),
                Some(exptime) => Request::Touch { key, exptime, noreply },
                None => refuse(answer::BAD_EXPTIME),
            }
        }
        b"flush_all" if words <= 3 => match tokens.next().filter(|_| words > 1 + usize::from(noreply)) {
            None => Request::FlushAll { delay: 0, noreply },
            Some(delay) => match signed(delay) {
                Some(delay) => Request::FlushAll { delay, noreply },
                None => refuse(answer::BAD_EXPTIME),
            },
        },
        b"verbosity" if (2..=4).contains(&words) => match tokens.next().and_then(unsigned) {
            Some(_) => Request::Verbosity { noreply },
            None => refuse(answer::BAD_LINE),
        },
        b"stats" => Request::Stats(arguments),
        b"lru_crawler" if tokens.next() == Some(b"metadump") => match tokens.next() {
            Some(_) => Request::MetaDump,
            None => refused(answer::ERROR),
        },
        b"version" => Request::Version,
        b"mn" => Request::MetaNoop,
        b"mg" | b"ms" | b"md" | b"ma" | b"me" => match Meta::parse(command[1], arguments, behind) {
            Ok(meta) => Request::Meta(meta),
            Err(answer) => refused(answer),
        },
        _ => refused(answer::ERROR),
    }
}

fn store<'a>(verb: Verb, whole: Tokens<'a>, behind: &'a [u8]) -> Request<'a> {
    let noreply = whole.last_one() == Some(b"noreply");
    match Line::read(verb, whole) {
        Ok(Line { key, flags, exptime, value_bytes, cas }) => {
            let (value, is_whole) = value(behind, value_bytes);
            Request::Store(Store { verb, key, flags, exptime, cas, value, is_whole, noreply })
        }
        Err(NoStore::Words) => refused(answer::ERROR),
        Err(NoStore::Format) => Request::Refused { answer: answer::BAD_LINE, noreply },
    }
}

fn get_and_touch(mut tokens: Tokens<'_>, with_cas: bool) -> Request<'_> {
    let Some(exptime) = tokens.next() else { return refused(answer::ERROR) };
    match signed(exptime) {
        Some(exptime) => Request::Get(Get { keys: tokens, with_cas, exptime: Some(exptime) }),
        None => refused(answer::BAD_EXPTIME),
    }
}

fn delete(mut tokens: Tokens<'_>, (words, noreply): (usize, bool)) -> Request<'_> {
    let key = tokens.next().unwrap_or_default();
    let is_zero = tokens.next() == Some(b"0");
    let is_sound = match words {
        2 => true,
        3 => is_zero || noreply,
        _ => is_zero && noreply,
    };
    match () {
        () if !is_sound => Request::Refused { answer: answer::BAD_DELETE, noreply },
        () if key.len() > KEY_BYTES_MAX => Request::Refused { answer: answer::BAD_LINE, noreply },
        () => Request::Delete { key, noreply },
    }
}

fn number(mut tokens: Tokens<'_>, noreply: bool, is_decrement: bool) -> Request<'_> {
    let key = tokens.next().unwrap_or_default();
    match tokens.next().and_then(unsigned) {
        _ if key.len() > KEY_BYTES_MAX => Request::Refused { answer: answer::BAD_LINE, noreply },
        Some(delta) => Request::Number { key, delta, is_decrement, noreply },
        None => Request::Refused { answer: answer::BAD_DELTA, noreply },
    }
}
