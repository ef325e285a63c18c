//! Replicas in simulated time, over a network and on disks that fail as a seed says.
//!
//! Everything runs on one thread, and its clock advances only while nothing runs. What a seed does
//! not fix is Raft's own draw of election timeouts.

mod disk;
mod history;
mod network;

pub(crate) use disk::SimulatedDisk;
pub(crate) use history::{History, Op};
pub(crate) use network::Network;

use std::future::Future;
use std::time::Duration;

use nebula_replication::disk::Disk;
use nebula_replication::machine::Room;
use nebula_replication::replica::{Replica, ReplicaConfig, Written};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::SplitMix64;
use tokio::sync::oneshot;

pub(crate) const ROOM: Room = Room { items_max: 100, value_bytes_max: 16 };

/// Runs a test in simulated time.
pub(crate) fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(test);
}

/// A stream of draws.
pub(crate) struct Draws(SplitMix64);

impl Draws {
    pub(crate) fn new(seed: u64) -> Self {
        Self(SplitMix64::seed_from_u64(seed))
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0.next_u64() % bound
    }
}

/// Some replicas, of which any may be down.
pub(crate) struct Cluster {
    pub(crate) network: Network,
    pub(crate) names: Vec<String>,
    disks: Vec<SimulatedDisk>,
    seed: u64,
}

impl Cluster {
    /// Starts `count` replicas.
    pub(crate) async fn start(count: usize, seed: u64) -> Self {
        let names: Vec<_> = (0..count).map(|n| format!("udp://10.0.0.{n}:1")).collect();
        let disks = names.iter().map(|_| SimulatedDisk::new()).collect();
        let cluster = Self { network: Network::new(seed), names, disks, seed };
        for index in 0..count {
            cluster.begin(index, &cluster.names).await;
        }
        cluster
    }

    /// Adds one that belongs to none yet.
    pub(crate) async fn one_more(&mut self) -> usize {
        self.names.push(format!("udp://10.0.0.{}:1", self.names.len()));
        self.disks.push(SimulatedDisk::new());
        let index = self.names.len() - 1;
        self.begin(index, &[]).await;
        index
    }

    /// Starts a replica on what is on its disk. Clocks differ: one waits half as long for a leader
    /// as another, or twice.
    async fn begin(&self, index: usize, members: &[String]) {
        let name = &self.names[index];
        let speed = 1 + u64::try_from(index).unwrap() % 3;
        let times = (Duration::from_millis(20 * speed), Duration::from_millis(150 * speed));
        let config = ReplicaConfig::new(name, members, ROOM).times(times.0, times.1).snapshot_every(20);
        let disk = Disk::open_on(self.disks[index].open()).unwrap();
        let replica = Replica::start(config, disk, self.network.wire(name)).await.unwrap();
        self.network.up(name, replica);
    }

    /// Kills a replica. What its disk was told to write and not to sync is lost, or not, by the
    /// draw.
    pub(crate) async fn kill(&self, index: usize, draws: &mut Draws) {
        let Some(replica) = self.network.down(&self.names[index]) else { return };
        self.disks[index].lose_power(draws.below(2) == 0);
        replica.stop().await;
    }

    /// Starts it again, if it is down or has stopped.
    pub(crate) async fn restart(&self, index: usize, draws: &mut Draws) {
        if self.network.at(&self.names[index]).is_some_and(|replica| replica.failure().is_some()) {
            self.kill(index, draws).await;
        }
        self.disks[index].set_full(false);
        if self.network.at(&self.names[index]).is_none() {
            self.begin(index, &self.names).await;
        }
    }

    /// From here on nothing more fits a replica's disk.
    pub(crate) fn fill_disk(&self, index: usize) {
        self.disks[index].set_full(true);
    }

    /// The one that leads, once there is one.
    pub(crate) async fn leader(&self) -> usize {
        for _ in 0..10_000 {
            let leads = |name: &String| self.network.at(name).is_some_and(|replica| replica.leads());
            if let Some(leader) = self.names.iter().position(leads) {
                return leader;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("seed {}: nobody leads", self.seed);
    }

    pub(crate) fn replica(&self, index: usize) -> Option<Replica> {
        self.network.at(&self.names[index])
    }

    /// Writes at a replica; nothing where it is killed before it answers.
    pub(crate) async fn write(&self, index: usize, write: nebula_replication::command::Write) -> Option<Written> {
        let replica = self.replica(index)?;
        let (tell, told) = oneshot::channel();
        replica.write(write, move |written| _ = tell.send(written));
        let written = tokio::time::timeout(Duration::from_secs(10), told).await.ok()?.ok()?;
        // Who has been killed meanwhile tells nobody.
        self.network.is(&self.names[index], &replica).then_some(written)
    }

    /// Reads at a replica: nothing where it does not answer, else what it found.
    pub(crate) async fn read(&self, index: usize, key: &[u8]) -> Option<Option<Vec<u8>>> {
        let replica = self.replica(index)?;
        let (tell, told) = oneshot::channel();
        let key = key.to_vec();
        replica.read(move |store| {
            let found = store.map(|store| {
                let mut value = Vec::new();
                store.get(nebula_kvs::Store::hash(&key), &key, &mut value).then_some(value)
            });
            let _ = tell.send(found);
        });
        let found = tokio::time::timeout(Duration::from_secs(10), told).await.ok()?.ok()??;
        self.network.is(&self.names[index], &replica).then_some(found)
    }
}
