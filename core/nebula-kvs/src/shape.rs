//! The parts of an item: a header word, the key, the value.
//!
//! ```text
//! word 0   key_bytes 8 | value_bytes 22, being written 1, has metadata 1 | granules 32
//! then     key, padded with zeros to 8 bytes
//! then     value, padded with zeros to 8 bytes
//! then     room up to `granules` × 32 bytes, into which the value may grow in place
//! at last  three words of metadata, in some items
//! ```
//! Nothing here reads memory: [`touch`](crate::touch) needs the sizes where there is no store.

/// The longest key in bytes. The shortest is 1.
pub const KEY_BYTES_MAX: usize = 255;
/// The longest value in bytes. The shortest is 0.
pub const VALUE_BYTES_MAX: usize = (1 << 20) - 1;

pub(crate) const HEADER_WORDS: usize = 1;

const _: () = assert!(KEY_BYTES_MAX < 1 << 8 && VALUE_BYTES_MAX < 1 << 24);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) key_bytes: usize,
    pub(crate) value_bytes: usize,
}

impl Shape {
    #[inline(always)]
    pub(crate) fn value_word(self) -> usize {
        HEADER_WORDS + self.key_bytes.div_ceil(8)
    }

    /// Words of header, key and value together.
    #[inline(always)]
    pub(crate) fn words(self) -> usize {
        self.value_word() + self.value_bytes.div_ceil(8)
    }
}
