//! Lists of keys: `stats cachedump` and `lru_crawler metadump`.
//!
//! One RPC answers with the whole list, so it ends where it is [this](DUMP_BYTES_MAX) long: others
//! wait meanwhile.

use super::stats::Told;
use nebula_kvs::Meta;
use nebula_memcached::request::Tokens;
use nebula_memcached::{ITEM_OVERHEAD_BYTES, answer};
use std::io::Write;

/// Of a list; memcached bounds that of `stats cachedump` to twice as much.
const DUMP_BYTES_MAX: usize = 1 << 20;
/// Classes of memcached's slabs are numbered up to this.
const CLASS_MAX: u64 = 63;
/// The longest line besides its key, of which each byte may take three.
const LINE_BYTES: usize = 1024;

impl Told<'_> {
    /// The keys and metadata of all items, one a line, as far as they go into a list.
    pub(super) fn meta_dump(&self, now: u32, out: &mut Vec<u8>) {
        self.store.keys(now, |key, meta| {
            out.extend_from_slice(b"key=");
            key.iter().for_each(|&byte| encode(byte, out));
            let expires = if meta.expires == 0 { -1 } else { i64::from(meta.expires) };
            let fetched = if meta.is_fetched { "yes" } else { "no" };
            let (last, cas, bytes) = (meta.last_access, meta.cas, item_bytes(key, meta));
            // A vector takes everything.
            let _ = writeln!(out, " exp={expires} la={last} cas={cas} fetch={fetched} cls=1 size={bytes}");
            out.len() < DUMP_BYTES_MAX - LINE_BYTES
        });
        out.extend_from_slice(answer::END);
    }

    /// `stats cachedump CLASS COUNT`: all items are of class 1; a count of 0 has no bound.
    pub(super) fn cache_dump(&self, mut about: Tokens<'_>, now: u32, out: &mut Vec<u8>) {
        let (Some(class), Some(most)) = (about.next(), about.next()) else {
            return out.extend_from_slice(answer::BAD_DUMP);
        };
        let number = |word: &[u8]| std::str::from_utf8(word).ok()?.parse::<u64>().ok();
        let (Some(class), Some(most)) = (number(class), number(most)) else {
            return out.extend_from_slice(answer::BAD_LINE);
        };
        if class > CLASS_MAX {
            return out.extend_from_slice(answer::BAD_CLASS);
        }
        let mut left = if most == 0 { u64::MAX } else { most };
        if class == 1 {
            self.store.keys(now, |key, meta| {
                out.extend_from_slice(b"ITEM ");
                out.extend_from_slice(key);
                let _ = write!(out, " [{} b; {} s]\r\n", meta.value_bytes, meta.expires);
                left -= 1;
                left > 0 && out.len() < DUMP_BYTES_MAX - LINE_BYTES
            });
        }
        out.extend_from_slice(answer::END);
    }
}

fn item_bytes(key: &[u8], meta: &Meta) -> usize {
    key.len() + meta.value_bytes as usize + ITEM_OVERHEAD_BYTES
}

/// As in a URI: bytes other than ASCII alphanumerics and `-._~` become `%` and two digits.
fn encode(byte: u8, out: &mut Vec<u8>) {
    if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
        out.push(byte);
    } else {
        let _ = write!(out, "%{byte:02X}");
    }
}
