//! Reads cases of tests from text files.
//!
//! ```text
//! # What the file is. Its first lines, up to an empty one, are for its readers.
//!
//! # the name of a case
//! > get a\r\n
//! < END\r\n
//! ```
//!
//! A case has a name, and lines that begin with a word. What stands behind the word is the test's:
//! bytes, for instance, as [`bytes`] reads them.

/// A case: its name, and its lines as the word that each begins with and what stands behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case<'t> {
    /// What it shows.
    pub name: &'t str,
    /// Its lines.
    pub lines: Vec<(&'t str, &'t str)>,
}

/// The cases of a file.
///
/// # Panics
///
/// Where the text does not begin with lines for its readers and an empty one, or has a line before
/// its first case.
///
/// # Examples
///
/// ```
/// let cases = nebula_testing::cases::read("# A file of cases.\n\n# one line\n> get a\\r\\n\n< END\\r\\n\n\n# none\n");
/// assert_eq!(cases[0].lines, [(">", "get a\\r\\n"), ("<", "END\\r\\n")]);
/// assert_eq!((cases[1].name, cases[1].lines.len()), ("none", 0));
/// ```
#[must_use]
pub fn read(text: &str) -> Vec<Case<'_>> {
    let (_, rest) = text.split_once("\n\n").expect("lines for readers, and an empty one");
    let mut cases: Vec<Case<'_>> = Vec::new();
    for line in rest.lines().filter(|line| !line.is_empty()) {
        match line.split_once(' ').unwrap_or((line, "")) {
            ("#", name) => cases.push(Case { name, lines: Vec::new() }),
            (word, behind) => cases.last_mut().expect("a line is of a case").lines.push((word, behind)),
        }
    }
    cases
}

/// Bytes as a file writes them: `\r`, `\n`, `\\` and `\xNN` are bytes, `{k*250}` is 250 times k,
/// and all else is itself.
///
/// # Panics
///
/// Where a backslash or a brace begins nothing of that.
///
/// # Examples
///
/// ```
/// assert_eq!(nebula_testing::cases::bytes(r"a\r\n\x00\\{xy*3}"), b"a\r\n\0\\xyxyxy");
/// ```
#[must_use]
pub fn bytes(text: &str) -> Vec<u8> {
    let (mut bytes, mut left) = (Vec::new(), text);
    while let Some(&first) = left.as_bytes().first() {
        let repeated = left.strip_prefix('{').and_then(|rest| rest.split_once('}'));
        if let Some((repeat, rest)) = repeated
            && let Some((what, times)) = repeat.split_once('*')
        {
            bytes.extend(what.repeat(times.parse().expect("a number of times")).bytes());
            left = rest;
            continue;
        }
        let (byte, length) = match left.as_bytes() {
            [b'\\', b'r', ..] => (b'\r', 2),
            [b'\\', b'n', ..] => (b'\n', 2),
            [b'\\', b'\\', ..] => (b'\\', 2),
            [b'\\', b'x', ..] => (u8::from_str_radix(&left[2..4], 16).expect("two hexadecimal digits"), 4),
            [b'\\', ..] => panic!("a backslash before {:?}", &left[1..]),
            _ => (first, 1),
        };
        bytes.push(byte);
        left = &left[length..];
    }
    bytes
}
