//! What a request asks for: the text commands.

use crate::KEY_BYTES_MAX;
use crate::answer;
use crate::meta::Meta;
pub use crate::tokens::Tokens;
use crate::tokens::{flags, line, signed, unsigned};

/// Values longer than this are no values.
const VALUE_BYTES_MAX: i32 = i32::MAX - 2;
/// The words of a command are counted up to here: no command but one that asks for keys has so
/// many.
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
        /// Of which item.
        key: &'a [u8],
        /// Whether to say nothing.
        noreply: bool,
    },
    /// `incr`, `decr`.
    Number {
        /// Of which item.
        key: &'a [u8],
        /// By how much.
        delta: u64,
        /// Which way.
        is_decrement: bool,
        /// Whether to say nothing.
        noreply: bool,
    },
    /// `touch`.
    Touch {
        /// Of which item.
        key: &'a [u8],
        /// As the client says it: see [`time`](crate::time).
        exptime: i32,
        /// Whether to say nothing.
        noreply: bool,
    },
    /// `flush_all`.
    FlushAll {
        /// When: see [`time`](crate::time); 0 is at once.
        delay: i32,
        /// Whether to say nothing.
        noreply: bool,
    },
    /// `verbosity`, which changes nothing.
    Verbosity {
        /// Whether to say nothing.
        noreply: bool,
    },
    /// `stats`, with what stands behind it.
    Stats(Tokens<'a>),
    /// `version`.
    Version,
    /// `mn`.
    MetaNoop,
    /// The other meta commands.
    Meta(Meta<'a>),
    /// No request: this is the answer, unless there is to be none.
    Refused {
        /// What to say.
        answer: &'static [u8],
        /// Whether to say nothing.
        noreply: bool,
    },
}

/// A request for the values of keys.
#[derive(Clone, Copy, Debug)]
pub struct Get<'a> {
    /// The keys. One of more than [`KEY_BYTES_MAX`] bytes ends all with
    /// [`BAD_LINE`](answer::BAD_LINE).
    pub keys: Tokens<'a>,
    /// Whether the CAS number is asked for.
    pub with_cas: bool,
    /// The expiry that the items get.
    pub exptime: Option<i32>,
}

/// How a value is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// In any case.
    Set,
    /// Where there is no item.
    Add,
    /// Where there is an item.
    Replace,
    /// Behind what is there.
    Append,
    /// Before what is there.
    Prepend,
    /// Where the item has this CAS number.
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

    /// Words of its command: with and without a last one, which may be `noreply`.
    fn words(self) -> [usize; 2] {
        if self == Self::Cas { [6, 7] } else { [5, 6] }
    }
}

/// A request to store a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Store<'a> {
    /// How.
    pub verb: Verb,
    /// Of which item.
    pub key: &'a [u8],
    /// The client's flags.
    pub flags: u32,
    /// As the client says it: see [`time`](crate::time).
    pub exptime: i32,
    /// The CAS number, of `cas`.
    pub cas: u64,
    /// The value; `None` where it is too long and was skipped.
    pub value: Option<&'a [u8]>,
    /// Whether the value ends where the line says.
    pub is_whole: bool,
    /// Whether to say nothing.
    pub noreply: bool,
}

/// What stands in the line of a command that stores.
struct Line<'a> {
    key: &'a [u8],
    flags: u32,
    exptime: i32,
    value_bytes: usize,
    cas: u64,
}

/// Why a line stores nothing.
enum NoStore {
    /// It has not as many words.
    Words,
    /// One of them is not what it should be.
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

/// Bytes of the value behind a line; `None` where none follows it.
#[inline]
pub(crate) fn value_bytes(verb: Verb, tokens: Tokens<'_>) -> Option<usize> {
    Line::read(verb, tokens).ok().map(|line| line.value_bytes)
}

/// The value behind a line, of `value_bytes` bytes, and whether it ends where it should; no value
/// where it was skipped.
pub(crate) fn value(behind: &[u8], value_bytes: usize) -> (Option<&[u8]>, bool) {
    match behind.split_at_checked(value_bytes) {
        Some((value, end)) if !end.is_empty() => (Some(value), end == b"\r\n"),
        _ => (None, true),
    }
}

impl<'a> Request<'a> {
    /// Reads a request, which is one piece of a stream as [`frame`](crate::frame) cuts it. Whatever
    /// the bytes are, there is an answer to them.
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

/// A command that does not only read. `behind` are the bytes behind its line.
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
