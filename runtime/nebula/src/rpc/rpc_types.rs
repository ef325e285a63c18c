//! Which type an RPC is of: what a service says, where the engine that asks has another thread than
//! the handlers, or what a configuration says.

use super::service::Service;
use nebula_nic::schedule::RpcType;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

type TypeOf = dyn Fn(&[u8]) -> RpcType + Send + Sync;

/// The types of RPCs that a server tells apart under `darc`.
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
    /// Without one, the service is asked on the engine's thread.
    type_of: Option<Arc<TypeOf>>,
}

impl RpcTypes {
    /// So many types, 1 to [`TYPES_MAX`](crate::TYPES_MAX), of which `type_of` says a request's.
    /// Type 0 is the common one: a type that does not exist is taken for it, and a panic too.
    #[must_use]
    pub fn new(types: u8, type_of: impl Fn(&[u8]) -> RpcType + Send + Sync + 'static) -> Self {
        Self { types, type_of: Some(Arc::new(type_of)) }
    }

    /// What a service says.
    pub(crate) fn of<S: Service + Send + Sync + 'static>(service: Arc<S>) -> Self {
        Self::new(service.types(), move |request| service.rpc_type(request))
    }

    /// So many types, of which the service says a request's that the worker has then.
    pub(crate) fn asked(types: u8) -> Self {
        Self { types, type_of: None }
    }

    /// How many there are.
    #[must_use]
    pub fn types(&self) -> u8 {
        self.types
    }

    /// The type of a request to `service`, which is asked unless another was set to say it.
    #[inline]
    pub(crate) fn type_of(&self, request: &[u8], service: Option<&dyn Service>) -> RpcType {
        let asked = AssertUnwindSafe(|| match (&self.type_of, service) {
            (Some(type_of), _) => type_of(request),
            (None, Some(service)) => service.rpc_type(request),
            (None, None) => RpcType(0),
        });
        // The engine goes on.
        catch_unwind(asked).unwrap_or_default()
    }
}

impl fmt::Debug for RpcTypes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RpcTypes").field("types", &self.types).finish_non_exhaustive()
    }
}
