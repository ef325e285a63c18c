//! Handlers of one type, so that the engine is compiled only once.

use nebula::Reply;

pub(crate) type Handler = Box<dyn Fn(&[u8], &mut Reply<'_>) + Send + Sync>;

/// This handler as the shared type, which saves seconds of each build of the tests.
pub(crate) fn boxed(handler: impl Fn(&[u8], &mut Reply<'_>) + Send + Sync + 'static) -> Handler {
    Box::new(handler)
}
