//! The clients' rings, for workers to find.

use super::channel::Channel;
use super::listener::client_index;
use nebula_nic::NodeId;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Debug, Default)]
pub(crate) struct Registry {
    channels: Mutex<Vec<Arc<Channel>>>,
    departures: AtomicU64,
}

impl Registry {
    pub(super) fn insert(&self, channel: Arc<Channel>) {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner).push(channel);
    }

    pub(super) fn remove(&self, snid: NodeId) {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner).retain(|channel| channel.snid() != snid);
        self.departures.fetch_add(1, Ordering::Release);
    }

    fn find(&self, snid: NodeId) -> Option<Arc<Channel>> {
        let channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        channels.iter().find(|channel| channel.snid() == snid).cloned()
    }

    pub(crate) fn disconnect_all(&self) {
        for channel in &*self.channels.lock().unwrap_or_else(PoisonError::into_inner) {
            channel.disconnect();
        }
    }
}

/// A worker's copies of the registry's entries, so that it takes the lock once for each client.
#[derive(Debug)]
pub(crate) struct ChannelCache {
    registry: Arc<Registry>,
    by_client: Vec<Option<Arc<Channel>>>,
    departures: u64,
}

impl ChannelCache {
    /// A cache with room for all clients, so that a worker's first RPC of one allocates nothing.
    pub(crate) fn new(registry: Arc<Registry>, clients_max: u16) -> Self {
        Self { registry, by_client: Vec::with_capacity(usize::from(clients_max)), departures: 0 }
    }

    /// The ring of `snid`. The client has an RPC in flight, so the engine keeps the ring.
    #[inline(always)]
    pub(crate) fn channel(&mut self, snid: NodeId) -> Option<&Arc<Channel>> {
        let is_known = matches!(self.by_client.get(client_index(snid)), Some(Some(channel)) if channel.snid() == snid);
        if !is_known {
            self.fill(snid)?;
        }
        self.by_client[client_index(snid)].as_ref()
    }

    /// As [`channel`](Self::channel), to be kept while the RPC lasts.
    #[inline]
    pub(crate) fn shared(&mut self, snid: NodeId) -> Option<Arc<Channel>> {
        self.channel(snid).cloned()
    }

    #[cold]
    fn fill(&mut self, snid: NodeId) -> Option<()> {
        let channel = self.registry.find(snid)?;
        if self.by_client.len() <= client_index(snid) {
            self.by_client.resize(client_index(snid) + 1, None);
        }
        self.by_client[client_index(snid)] = Some(channel);
        Some(())
    }

    /// Drops rings whose clients have left; for idle moments.
    #[inline]
    pub(crate) fn tidy(&mut self) {
        let departures = self.registry.departures.load(Ordering::Acquire);
        if departures != self.departures {
            self.departures = departures;
            self.by_client.clear();
        }
    }
}
