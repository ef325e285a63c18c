//! A last line of text that says what is before it, and what file it was written for.
//!
//! ```text
//! # whole: CRC-32C of the name, a zero byte and all bytes before this line, as eight digits
//! ```

use std::io::{Result, Write};

const BEGIN: &str = "# whole: ";
const DIGITS: usize = 8;

/// Writes text, and at the end its seal.
///
/// # Examples
///
/// ```
/// use nebula_files::{Sealing, Unsealed, unseal};
/// use std::io::Write;
///
/// let mut sealing = Sealing::new("ann", Vec::new());
/// sealing.write_all(b"one line\n")?;
/// let text = String::from_utf8(sealing.end()?)?;
/// assert_eq!(unseal("ann", &text), Unsealed::Whole("one line\n"));
/// assert_eq!(unseal("bob", &text), Unsealed::Damaged, "under another name");
/// assert_eq!(unseal("ann", &text.replace("one", "two")), Unsealed::Damaged);
/// assert_eq!(unseal("ann", "one line\n"), Unsealed::Open);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Sealing<W> {
    to: W,
    check: u32,
}

impl<W: Write> Sealing<W> {
    /// Text for a file that is read back under `name`.
    pub fn new(name: &str, to: W) -> Self {
        Self { to, check: begin(name) }
    }

    /// Writes the seal and flushes. The text must have ended its last line.
    ///
    /// # Errors
    ///
    /// The bytes cannot be written.
    pub fn end(mut self) -> Result<W> {
        writeln!(self.to, "{BEGIN}{:08x}", self.check)?;
        self.to.flush()?;
        Ok(self.to)
    }

    /// Where it writes to, without a seal.
    pub fn into_inner(self) -> W {
        self.to
    }
}

impl<W: Write> Write for Sealing<W> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let written = self.to.write(bytes)?;
        self.check = crc32c::crc32c_append(self.check, &bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> Result<()> {
        self.to.flush()
    }
}

/// What [`unseal`] finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsealed<'a> {
    /// The text before the seal, as it was written.
    Whole(&'a str),
    /// The seal is of another text, or of another name.
    Damaged,
    /// There is none: it was not written to its end, or by others.
    Open,
}

/// Checks the seal of a text that is read back under `name`.
#[must_use]
pub fn unseal<'a>(name: &str, text: &'a str) -> Unsealed<'a> {
    let Some(at) = text.rfind(BEGIN).filter(|&at| at == 0 || text[..at].ends_with('\n')) else {
        return Unsealed::Open;
    };
    let (before, seal) = text.split_at(at);
    let digits = seal.strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix('\n')).unwrap_or_default();
    let check = u32::from_str_radix(digits, 16).ok().filter(|_| digits.len() == DIGITS);
    let is_whole = check == Some(crc32c::crc32c_append(begin(name), before.as_bytes()));
    if is_whole { Unsealed::Whole(before) } else { Unsealed::Damaged }
}

fn begin(name: &str) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(name.as_bytes()), &[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_and_every_cut_is_noticed() {
        let mut sealing = Sealing::new("name", Vec::new());
        sealing.write_all(b"a 1\nb 2\n").unwrap();
        let whole = String::from_utf8(sealing.end().unwrap()).unwrap();
        assert_eq!(unseal("name", &whole), Unsealed::Whole("a 1\nb 2\n"));
        for at in 0..whole.len() {
            assert!(!matches!(unseal("name", &whole[..at]), Unsealed::Whole(_)), "cut at {at}");
            let mut changed = whole.clone().into_bytes();
            changed[at] ^= 1;
            let changed = String::from_utf8(changed).unwrap();
            assert!(!matches!(unseal("name", &changed), Unsealed::Whole(_)), "{changed}");
        }
        assert_eq!(unseal("name", &format!("{whole}behind")), Unsealed::Damaged);
        assert_eq!((unseal("", ""), unseal("a", &whole)), (Unsealed::Open, Unsealed::Damaged));
    }
}
