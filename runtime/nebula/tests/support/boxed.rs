//! Handlers of one type, so that the engine is compiled once for all of them and not once for each.

use nebula::Reply;

/// Any handler.
pub(crate) type Handler = Box<dyn Fn(&[u8], &mut Reply<'_>) + Send + Sync>;

/// This handler, as one of the type that all others have. It takes seconds of each build from the
/// tests.
pub(crate) fn boxed(handler: impl Fn(&[u8], &mut Reply<'_>) + Send + Sync + 'static) -> Handler {
    Box::new(handler)
}
