//! The load's threads, each with its core and its share of the connections: a single one on two
//! cores.

use super::lanes::{Lanes, Seen};
use crate::Failure;
use crate::child::client_cores;
use nebula_sys::affinity::pin_to;
use std::net::SocketAddr;

/// More than one server core needs.
const THREADS_MAX: usize = 4;

pub struct Threads(Vec<Lanes>);

impl Threads {
    pub fn connect(address: SocketAddr, connections: usize) -> Result<Self, Failure> {
        let threads = count();
        let lanes = (0..threads).map(|thread| {
            let more = usize::from(thread < connections % threads);
            Lanes::connect(address, connections / threads + more, thread as u64)
        });
        Ok(Self(lanes.collect::<Result<_, _>>()?))
    }

    /// As [`Lanes::closed`], on all connections.
    pub fn closed(&mut self, pipeline: u32, ps: u64) -> Result<Seen, Failure> {
        self.together(|lanes| lanes.closed(pipeline, ps))
    }

    /// As [`Lanes::open`], with an equal share of the load for each thread.
    pub fn open(&mut self, offered_mrps: f64, ps: u64) -> Result<Seen, Failure> {
        let share = offered_mrps / self.0.len() as f64;
        self.together(|lanes| lanes.open(share, ps))
    }

    fn together(&mut self, round: impl Fn(&mut Lanes) -> Result<Seen, Failure> + Sync) -> Result<Seen, Failure> {
        let round = |core: usize, lanes: &mut Lanes| {
            pin_to(core).map_err(|error| error.to_string())?;
            round(lanes).map_err(|error| error.to_string())
        };
        let seen = std::thread::scope(|scope| {
            let pairs = client_cores(THREADS_MAX).iter().zip(&mut self.0);
            let threads: Vec<_> = pairs.map(|(&core, lanes)| scope.spawn(move || round(core, lanes))).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().expect("a thread of the load"))
                .collect::<Result<Vec<_>, _>>()
        })?;
        let merge = |mut all: Seen, one: Seen| {
            all.merge(one);
            all
        };
        seen.into_iter().reduce(merge).ok_or_else(|| "no thread".into())
    }
}

pub fn count() -> usize {
    client_cores(THREADS_MAX).len()
}
