//! Receives the value that a GET finds.

use nebula_sys::{copy, sync::AtomicU64};

/// Receives the value of a GET.
///
/// The value is still in the log, where other cores may be changing it. So `write` copies it, and
/// the store then checks that the copy is consistent; if not, it calls `write` again or reports a
/// miss. Hence the rules:
///
/// - each call **replaces** the result of the previous one;
/// - the result counts only if GET then returns true;
/// - a call must accept any length up to [`VALUE_BYTES_MAX`](crate::VALUE_BYTES_MAX) without a
///   panic, even one longer than any value stored.
pub trait ValueSink {
    /// Copies the first `bytes` bytes of `value`.
    fn write(&mut self, value: &[AtomicU64], bytes: usize);
}

/// Holds only the value; the allocation is reused from one GET to the next.
impl ValueSink for Vec<u8> {
    #[inline]
    fn write(&mut self, value: &[AtomicU64], bytes: usize) {
        self.resize(bytes, 0);
        copy::load_bytes(value, self);
    }
}

/// Writes the value to the caller's buffer and stores its length; if too long, only the length.
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
