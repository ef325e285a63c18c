//! The type of an RPC, by its service or by a function in the configuration.

use super::service::Service;
use nebula_nic::schedule::RpcType;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

type TypeOf = dyn Fn(&[u8]) -> RpcType + Send + Sync;

/// The types of RPCs that a server distinguishes under `darc`.
///
/// # Examples
///
/// ```
/// use nebula::{Policy, RpcType, RpcTypes, Server, ServerConfig};
///
/// // 0: all others; 1: reads; 2: scans.
/// let types = RpcTypes::new(3, |request| match request.first() {
///     Some(b'r') => RpcType(1),
///     Some(b's') => RpcType(2),
///     _ => RpcType(0),
/// });
/// let config = ServerConfig::default().policy(Policy::Darc).workers(2).rpc_types(types);
/// let (server, workers) = Server::bind("udp://127.0.0.1:0").config(config).open()?;
/// # drop((workers, server));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct RpcTypes {
    types: u8,
    /// Without one, the engine's thread asks the service.
    type_of: Option<Arc<TypeOf>>,
}

impl RpcTypes {
    /// Distinguishes `types` types, 1 to [`TYPES_MAX`](crate::TYPES_MAX), by `type_of`. Type 0 is
    /// the common one, also for unknown types and if `type_of` panics.
    #[must_use]
    pub fn new(types: u8, type_of: impl Fn(&[u8]) -> RpcType + Send + Sync + 'static) -> Self {
        Self { types, type_of: Some(Arc::new(type_of)) }
    }

    pub(crate) fn of<S: Service + Send + Sync + 'static>(service: Arc<S>) -> Self {
        Self::new(service.types(), move |request| service.rpc_type(request))
    }

    pub(crate) fn asked(types: u8) -> Self {
        Self { types, type_of: None }
    }

    /// How many types there are.
    #[must_use]
    pub fn types(&self) -> u8 {
        self.types
    }

    /// The type of a request: by the configured function, or else by `service`.
    #[inline]
    pub(crate) fn type_of(&self, request: &[u8], service: Option<&dyn Service>) -> RpcType {
        let asked = AssertUnwindSafe(|| match (&self.type_of, service) {
            (Some(type_of), _) => type_of(request),
            (None, Some(service)) => service.rpc_type(request),
            (None, None) => RpcType(0),
        });
        // A panic must not end the engine.
        catch_unwind(asked).unwrap_or_default()
    }
}

impl fmt::Debug for RpcTypes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RpcTypes").field("types", &self.types).finish_non_exhaustive()
    }
}
