//! Where a GET puts the value it finds.

use nebula_sys::{copy, sync::AtomicU64};

/// Receives the value of a GET.
///
/// The value is still in the log, where other cores may be changing it; so `write` copies, and the store looks afterwards whether what
/// was copied was whole. Where it was not, the store calls `write` again or reports a miss. Hence the rules:
///
/// - each call **replaces** what the one before left;
/// - what a call left counts only if GET then returns true;
/// - a call must take any length up to [`VALUE_BYTES_MAX`](crate::VALUE_BYTES_MAX) without a panic, even one longer than any value stored.
pub trait ValueSink {
    /// Takes the first `bytes` bytes of `value`.
    fn write(&mut self, value: &[AtomicU64], bytes: usize);
}

/// The value, and nothing else; memory is kept from one GET to the next.
impl ValueSink for Vec<u8> {
    #[inline]
    fn write(&mut self, value: &[AtomicU64], bytes: usize) {
        self.resize(bytes, 0);
        copy::load_bytes(value, self);
    }
}

/// A sink that writes to the caller's buffer and keeps the length; a value that is too long is left out, and only its length kept.
///
/// # Examples
///
/// ```
/// use nebula_kvs::{SliceSink, Store, StoreConfig};
/// let store = Store::try_new(StoreConfig::for_items(10, 16, 8))?;
/// let hash = Store::hash(b"key");
/// store.set(hash, b"key", b"value")?;
/// let mut buffer = [0; 512];
/// let mut sink = SliceSink::new(&mut buffer);
/// assert!(store.get(hash, b"key", &mut sink));
/// assert_eq!(sink.value(), Some(&b"value"[..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SliceSink<'a> {
    buffer: &'a mut [u8],
    bytes: usize,
}

impl<'a> SliceSink<'a> {
    /// Writes values to the start of `buffer`.
    #[must_use]
    pub fn new(buffer: &'a mut [u8]) -> Self {
        Self { buffer, bytes: 0 }
    }

    /// The value's length in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The value, unless it is longer than the buffer.
    #[must_use]
    pub fn value(&self) -> Option<&[u8]> {
        self.buffer.get(..self.bytes)
    }
}

impl ValueSink for SliceSink<'_> {
    #[inline]
    fn write(&mut self, value: &[AtomicU64], bytes: usize) {
        self.bytes = bytes;
        if let Some(room) = self.buffer.get_mut(..bytes) {
            copy::load_bytes(value, room);
        }
    }
}
