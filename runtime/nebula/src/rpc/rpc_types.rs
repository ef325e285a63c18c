//! The types of a service's RPCs.

use super::handler::guarded;
use nebula_nic::schedule::RpcType;
use std::fmt;
use std::sync::Arc;

type TypeOf = dyn Fn(&[u8]) -> RpcType + Send + Sync;

/// The types of RPCs that a server distinguishes under `darc`: see
/// [`Description::types`](crate::Description::types).
///
/// # Examples
///
/// ```
/// use nebula::{Description, Policy, RpcType, Server};
///
/// // 0: all others; 1: reads; 2: scans.
/// let description = Description::default().types(3, |request| match request.first() {
///     Some(b'r') => RpcType(1),
///     Some(b's') => RpcType(2),
///     _ => RpcType(0),
/// });
/// let server = Server::bind("udp://127.0.0.1:0").policy(Policy::Darc).workers(2);
/// let (server, workers) = server.description(description).open()?;
/// # drop((workers, server));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct RpcTypes {
    types: u8,
    type_of: Arc<TypeOf>,
}

impl RpcTypes {
    /// Distinguishes `types` types, 1 to [`TYPES_MAX`](crate::TYPES_MAX), by `type_of`. Type 0 is
    /// the common one, also for unknown types and if `type_of` panics.
    ///
    /// # Cost
    ///
    /// The engine calls `type_of` under `darc` alone, once for each RPC before dispatch: read few
    /// bytes.
    #[must_use]
    pub fn new(types: u8, type_of: impl Fn(&[u8]) -> RpcType + Send + Sync + 'static) -> Self {
        Self { types, type_of: Arc::new(type_of) }
    }

    /// How many types there are.
    #[must_use]
    pub fn types(&self) -> u8 {
        self.types
    }

    /// The type of a request, which may be unknown; the common one if the function panics.
    #[inline]
    #[must_use]
    pub fn type_of(&self, request: &[u8]) -> RpcType {
        // A panic must not end the engine.
        guarded(|| (self.type_of)(request)).unwrap_or_default()
    }
}

impl fmt::Debug for RpcTypes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RpcTypes").field("types", &self.types).finish_non_exhaustive()
    }
}
