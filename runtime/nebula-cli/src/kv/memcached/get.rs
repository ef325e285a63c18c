//! Writes values for a client, each behind its line.
//!
//! ```text
//!   VALUE key flags bytes [cas]      memcached's text commands
//!   VA bytes flag…                   its meta commands, once all flags are known
//! ```
//!
//! The store returns an item's flags after its value. So the line is written for flags of 0, and
//! rewritten in the rare case of others.

use nebula_kvs::{Meta, ValueSink};
use nebula_memcached::answer::{DIGITS_MAX, decimal};
use nebula_sys::copy;
use nebula_sys::sync::AtomicU64;

pub(super) struct LineSink<'a> {
    out: &'a mut Vec<u8>,
    key: &'a [u8],
    /// Where the line and the value begin.
    line_at: usize,
    value_at: usize,
}

impl<'a> LineSink<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>, key: &'a [u8]) -> Self {
        let line_at = out.len();
        Self { out, key, line_at, value_at: line_at }
    }

    /// The item was found: completes its line and ends the value.
    #[inline]
    pub(super) fn end(mut self, meta: &Meta, with_cas: bool) {
        if meta.flags != 0 || with_cas {
            self.mend(meta, with_cas);
        }
        self.out.extend_from_slice(b"\r\n");
    }

    /// The item was not found: removes anything written.
    pub(super) fn undo(self) {
        self.out.truncate(self.line_at);
    }

    #[inline(never)]
    fn mend(&mut self, meta: &Meta, with_cas: bool) {
        let mut line = Vec::with_capacity(self.value_at - self.line_at + 2 * DIGITS_MAX);
        let value_bytes = self.out.len() - self.value_at;
        begin_line(&mut line, self.key, meta.flags.into(), value_bytes);
        if with_cas {
            line.push(b' ');
            push_number(&mut line, meta.cas);
        }
        line.extend_from_slice(b"\r\n");
        self.out.splice(self.line_at..self.value_at, line);
    }
}

fn begin_line(out: &mut Vec<u8>, key: &[u8], flags: u64, value_bytes: usize) {
    out.extend_from_slice(b"VALUE ");
    out.extend_from_slice(key);
    out.push(b' ');
    push_number(out, flags);
    out.push(b' ');
    push_number(out, value_bytes as u64);
}

#[inline]
pub(super) fn push_number(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(decimal(number, &mut [0; DIGITS_MAX]));
}

impl ValueSink for LineSink<'_> {
    #[inline]
    fn write(&mut self, value: &[AtomicU64], bytes: usize) {
        self.out.truncate(self.line_at);
        begin_line(self.out, self.key, 0, bytes);
        self.out.extend_from_slice(b"\r\n");
        self.value_at = self.out.len();
        self.out.resize(self.value_at + bytes, 0);
        copy::load_bytes(value, &mut self.out[self.value_at..]);
    }
}
