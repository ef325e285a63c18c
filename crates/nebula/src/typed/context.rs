//! What a handler may know about its RPC beyond the request.

use super::head::{self, Head};
use super::trace::TraceContext;

/// What a handler may know about its RPC beyond the request.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    head: Head,
    extension: &'a [u8],
}

impl<'a> Context<'a> {
    #[inline(always)]
    pub(crate) const fn new(head: Head, extension: &'a [u8]) -> Self {
        Self { head, extension }
    }

    /// The number of the method that was called.
    #[must_use]
    pub const fn method(&self) -> u16 {
        self.head.method()
    }

    /// The trace that the RPC belongs to, if its client said one.
    ///
    /// # Cost
    ///
    /// It is looked for when it is asked for.
    #[must_use]
    pub fn trace(&self) -> Option<TraceContext> {
        head::trace_in(self.extension)
    }
}
