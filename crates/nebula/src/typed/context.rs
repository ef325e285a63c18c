//! What a handler may know about its RPC beyond the request.

use super::method::{self, MethodId};
use super::trace::TraceContext;

/// What a handler may know about its RPC beyond the request.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    id: MethodId,
    extension: &'a [u8],
}

impl<'a> Context<'a> {
    #[inline(always)]
    pub(crate) const fn new(id: MethodId, extension: &'a [u8]) -> Self {
        Self { id, extension }
    }

    /// The number of the method that was called.
    #[must_use]
    pub const fn method(&self) -> u16 {
        self.id.method()
    }

    /// Where the window of a stream begins: empty at the stream's beginning.
    pub(crate) fn cursor(&self) -> &'a [u8] {
        method::cursor_in(self.extension)
    }

    /// The trace that the RPC belongs to, if its client said one.
    ///
    /// # Cost
    ///
    /// It is looked for when it is asked for.
    #[must_use]
    pub fn trace(&self) -> Option<TraceContext> {
        method::trace_in(self.extension)
    }
}
