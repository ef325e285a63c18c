//! A network that delays, loses and parts, as a seed says.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use nebula_replication::peers::{Carrier, CarryError};
use nebula_replication::replica::Replica;

use super::Draws;

/// How long a message takes at most.
const DELAY_MS: u64 = 8;
/// After this long without a reply the sender gives up, as Nebula's clients do.
const PATIENCE: Duration = Duration::from_millis(150);
/// One message in so many is lost.
const LOST_ONE_IN: u64 = 20;

/// All replicas that are up, and who reaches whom. Clones are the same network.
#[derive(Clone)]
pub(crate) struct Network(Arc<Mutex<State>>);

struct State {
    up: BTreeMap<String, (u64, Replica)>,
    /// How many were started.
    started: u64,
    /// Those on the other side of a partition.
    parted: BTreeSet<String>,
    draws: Draws,
}

impl Network {
    pub(crate) fn new(seed: u64) -> Self {
        let draws = Draws::new(seed ^ 0x6e65_7477_6f72_6b00);
        Self(Arc::new(Mutex::new(State { up: BTreeMap::new(), started: 0, parted: BTreeSet::new(), draws })))
    }

    /// What the replica of this name sends by.
    pub(crate) fn wire(&self, from: &str) -> Wire {
        Wire { network: self.clone(), from: from.to_owned() }
    }

    pub(crate) fn up(&self, name: &str, replica: Replica) {
        let state = &mut *self.0.lock().unwrap();
        state.started += 1;
        state.up.insert(name.to_owned(), (state.started, replica));
    }

    pub(crate) fn down(&self, name: &str) -> Option<Replica> {
        self.0.lock().unwrap().up.remove(name).map(|(_, replica)| replica)
    }

    pub(crate) fn at(&self, name: &str) -> Option<Replica> {
        self.0.lock().unwrap().up.get(name).map(|(_, replica)| replica.clone())
    }

    /// Whether this one is still there, and not another one of its name.
    pub(crate) fn is(&self, name: &str, replica: &Replica) -> bool {
        self.at(name).is_some_and(|up| up.is_same(replica))
    }

    /// Parts these from the others.
    pub(crate) fn part(&self, names: &[&String]) {
        self.0.lock().unwrap().parted = names.iter().map(|&name| name.clone()).collect();
    }

    /// How long a message takes, unless it is lost.
    fn way(&self, from: &str, to: &str) -> Option<Duration> {
        let state = &mut *self.0.lock().unwrap();
        let is_lost = state.draws.below(LOST_ONE_IN) == 0;
        let delay = Duration::from_millis(state.draws.below(DELAY_MS));
        let is_parted = state.parted.contains(from) != state.parted.contains(to);
        (!is_lost && !is_parted).then_some(delay)
    }
}

/// The network, as one replica sees it.
pub(crate) struct Wire {
    network: Network,
    from: String,
}

impl Wire {
    async fn ask(&self, to: &str, request: &[u8]) -> Option<Vec<u8>> {
        tokio::time::sleep(self.network.way(&self.from, to)?).await;
        let reply = self.network.at(to)?.answer(request).await;
        tokio::time::sleep(self.network.way(to, &self.from)?).await;
        // One that is down hears nothing.
        self.network.at(&self.from).map(|_| reply)
    }
}

impl Carrier for Wire {
    async fn carry(&self, endpoint: &str, request: Vec<u8>) -> Result<Vec<u8>, CarryError> {
        let asked = tokio::time::timeout(PATIENCE, self.ask(endpoint, &request)).await;
        if let Ok(Some(reply)) = asked {
            return Ok(reply);
        }
        tokio::time::sleep(PATIENCE / 10).await;
        Err(CarryError::Failed { endpoint: endpoint.to_owned(), cause: "the simulated network".to_owned() })
    }
}
