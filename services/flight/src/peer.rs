//! A tier, as one that calls it has it: a connection that is made again when the tier has come
//! back, and what was seen of it.

use crate::edge::{Edge, EdgeReport, End};
use crate::places::Places;
use crate::tier::Tier;
use nebula::{AsyncClient, CallError as Rpc, ClientConfig, SubmitError};
use nebula_typed::{AsyncChannel, CallError, ConnectError, Status};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The pauses between two tries to connect: each twice the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LAST_PAUSE: Duration = Duration::from_millis(100);

/// A tier that is there and does not answer is waited for no longer.
const PATIENCE: Duration = Duration::from_secs(1);

/// Why a call of another tier has no reply.
#[derive(Clone, Debug)]
pub(crate) enum Trouble {
    /// It, or one behind it, has refused: nothing was done.
    Refused,
    /// What it has answered, or what became of it.
    Other(Status),
}

/// A tier that is called.
pub(crate) struct Peer<C>(Arc<Inner<C>>);

struct Inner<C> {
    tier: Tier,
    endpoint: String,
    over: fn(AsyncChannel) -> Result<C, ConnectError>,
    client: Mutex<Option<C>>,
    /// Whether somebody connects again.
    connects: AtomicBool,
    edge: Edge,
}

impl<C> Clone for Peer<C> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<C: Clone + Send + 'static> Peer<C> {
    /// The tier that is at `places`, once it is there; `over` makes its client of a connection.
    pub(crate) fn connect(tier: Tier, places: &Places, over: fn(AsyncChannel) -> Result<C, ConnectError>) -> Self {
        let (client, connects) = (Mutex::new(None), AtomicBool::new(true));
        let inner = Arc::new(Inner { tier, endpoint: places.of(tier), over, client, connects, edge: Edge::new() });
        inner.clone().connect_until_there();
        Self(inner)
    }

    /// Calls it. One that is gone is an error at once, and is connected to again meanwhile.
    pub(crate) async fn call<P, F>(&self, call: impl FnOnce(C) -> F) -> Result<P, Trouble>
    where
        F: Future<Output = Result<P, CallError>>,
    {
        let name = self.0.tier.name();
        let Some(client) = self.0.client() else {
            let gone: Result<P, _> = Err(Rpc::ServerGone.into());
            self.0.edge.count(&gone, Duration::ZERO);
            return Err(Trouble::Other(Status::unavailable(format!("{name} is gone"))));
        };
        let began = Instant::now();
        let result = call(client).await;
        let end = self.0.edge.count(&result, began.elapsed());
        result.map_err(|error| match (end, error) {
            (End::Refused, _) => Trouble::Refused,
            (_, CallError::Status(status)) => Trouble::Other(status),
            (_, error) => {
                if is_over(&error) {
                    Inner::reconnect(&self.0);
                }
                Trouble::Other(Status::unavailable(format!("{name}: {error}")))
            }
        })
    }

    /// What was seen of it since it was asked last.
    pub(crate) fn report(&self) -> EdgeReport {
        self.0.edge.take(self.0.tier.name())
    }
}

impl<C: Clone + Send + 'static> Inner<C> {
    fn client(&self) -> Option<C> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_client(&self, client: Option<C>) {
        *self.client.lock().unwrap_or_else(PoisonError::into_inner) = client;
    }

    fn reconnect(inner: &Arc<Self>) {
        if !inner.connects.swap(true, Ordering::AcqRel) {
            inner.set_client(None);
            let inner = inner.clone();
            std::thread::spawn(move || inner.connect_until_there());
        }
    }

    fn connect_until_there(self: Arc<Self>) {
        let mut pause = FIRST_PAUSE;
        loop {
            if let Ok(client) = self.try_connect() {
                self.set_client(Some(client));
                self.connects.store(false, Ordering::Release);
                return;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(LAST_PAUSE);
        }
    }

    fn try_connect(&self) -> Result<C, ConnectError> {
        // Cores are few here, and those that are called need them: a call sleeps at once.
        let config = ClientConfig::default().deadline(PATIENCE);
        let client = AsyncClient::connect_with(self.endpoint.as_str(), config).wait()?;
        let client = client.poll_for(Duration::ZERO).refuse_when_full();
        (self.over)(client.into())
    }
}

/// Whether the connection is of no more use.
fn is_over(error: &CallError) -> bool {
    matches!(error, CallError::Rpc(Rpc::ServerGone | Rpc::NotSent(SubmitError::ServerGone)))
}
