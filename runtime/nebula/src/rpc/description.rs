//! The properties of a service that its server must know: bounds, long RPCs, types, counters.

use super::rpc_types::RpcTypes;
use super::store_counters::StoreCounters;
use derive_setters::Setters;
use nebula_nic::schedule::RpcType;
use std::fmt;
use std::sync::Arc;

/// Where a handler runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Class {
    /// On the worker that the RPC was dispatched to: for handlers shorter than a hand-over.
    #[default]
    Dispatch,
    /// On a thread of the server's [pool](crate::ServerConfig::pool_threads): for handlers so long
    /// that other RPCs must not wait behind them.
    Worker,
}

type ClassOf = dyn Fn(&[u8]) -> Class + Send + Sync;

/// The properties of a service that its server must know. The server asks for them once, at the
/// start ([`Service::describe`](crate::Service::describe)).
///
/// Each field has a setter of the same name. The default describes a service whose RPCs are all
/// alike: short, of one type, answered at once.
///
/// The functions in it are called on the threads of the server, several at a time. A service whose
/// state they read keeps that state in an [`Arc`].
///
/// # Examples
///
/// A service that counts its RPCs, and has a thread for the long ones:
///
/// ```
/// use nebula::{Class, Client, Description, Reply, Server, Service, StoreCounters};
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
///
/// #[derive(Default)]
/// struct Counting(Arc<AtomicU64>);
///
/// impl Service for Counting {
///     fn serve(&self, request: &[u8], reply: &mut Reply<'_>) {
///         self.0.fetch_add(1, Relaxed);
///         reply.write(request);
///     }
///
///     fn describe(&self) -> Description {
///         let served = self.0.clone();
///         Description::default()
///             .reply_bytes_max(1024)
///             .classes(|request| if request.len() > 512 { Class::Worker } else { Class::Dispatch })
///             .store(move || StoreCounters { hits: served.load(Relaxed), ..StoreCounters::default() })
///     }
/// }
///
/// let name = format!("shm://doc-description-{}", std::process::id());
/// let server = Server::bind(&name).serve(Counting::default())?;
/// let mut client = Client::connect(&name)?;
/// assert_eq!(client.call(&[7; 600])?, [7; 600]);
/// assert!(server.pool().is_some());
/// server.stop();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default, Setters)]
#[setters(strip_option)]
#[non_exhaustive]
#[must_use]
pub struct Description {
    /// The longest reply, in bytes. Clients learn it from the server, unless
    /// [`ServerConfig::reply_bytes_max`](crate::ServerConfig::reply_bytes_max) is set. Default:
    /// unknown.
    pub reply_bytes_max: Option<u32>,
    /// How many RPCs of a worker may wait for [later](crate::Reply::later) replies, unless
    /// [`ServerConfig::later_max`](crate::ServerConfig::later_max) is set. Default: none.
    pub later_max: Option<u16>,
    /// Whether [`Service::prefetch`](crate::Service::prefetch) does anything. If not, it is never
    /// called, and [`Requests::may_prefetch`](crate::Requests::may_prefetch) is false. Default:
    /// `false`.
    pub prefetches: bool,
    /// Where the handler of a request runs. Called for each RPC, on the worker that it was
    /// dispatched to. Without it, all run there, and the server has no
    /// [pool](crate::ServerConfig::pool_threads). Default: none.
    #[setters(skip)]
    pub classes: Option<Arc<ClassOf>>,
    /// The types of its RPCs, for the policy `darc`. Default: all are of one type.
    #[setters(skip)]
    pub types: Option<RpcTypes>,
    /// Counters of its store, for the [status page](crate::StatusReader::store). One worker reads
    /// them once in a while, between RPCs, and when it stops. Default: none, it stores nothing.
    #[setters(skip)]
    pub store: Option<Arc<dyn Fn() -> StoreCounters + Send + Sync>>,
    /// Called when the server stops, by each worker after its last RPC, before RPCs that wait for
    /// [later](crate::Reply::later) replies end unanswered: a service can wait for such replies
    /// here. Not called by [`Domains`](crate::Domains), under `preemptive:Q`, nor by workers with
    /// the caller's loop ([`Worker::turn`](crate::Worker::turn)). Default: none.
    #[setters(skip)]
    pub on_drain: Option<Arc<dyn Fn() + Send + Sync>>,
}

impl Description {
    /// Sets where the handler of a request runs: see [`classes`](Self#structfield.classes).
    pub fn classes(mut self, class_of: impl Fn(&[u8]) -> Class + Send + Sync + 'static) -> Self {
        self.classes = Some(Arc::new(class_of));
        self
    }

    /// Distinguishes `types` types of RPCs, 1 to [`TYPES_MAX`](crate::TYPES_MAX), by `type_of`:
    /// see [`RpcTypes::new`].
    pub fn types(mut self, types: u8, type_of: impl Fn(&[u8]) -> RpcType + Send + Sync + 'static) -> Self {
        self.types = Some(RpcTypes::new(types, type_of));
        self
    }

    /// Sets what reads the counters of its store: see [`store`](Self#structfield.store).
    pub fn store(mut self, counters: impl Fn() -> StoreCounters + Send + Sync + 'static) -> Self {
        self.store = Some(Arc::new(counters));
        self
    }

    /// Sets what is called when the server stops: see [`on_drain`](Self#structfield.on_drain).
    pub fn on_drain(mut self, drain: impl Fn() + Send + Sync + 'static) -> Self {
        self.on_drain = Some(Arc::new(drain));
        self
    }

    /// Where the handler of this request runs.
    #[must_use]
    pub fn class(&self, request: &[u8]) -> Class {
        self.classes.as_ref().map_or(Class::Dispatch, |class_of| class_of(request))
    }
}

impl fmt::Debug for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Description")
            .field("reply_bytes_max", &self.reply_bytes_max)
            .field("later_max", &self.later_max)
            .field("prefetches", &self.prefetches)
            .field("types", &self.types)
            .finish_non_exhaustive()
    }
}
