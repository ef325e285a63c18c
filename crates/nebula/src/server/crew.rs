//! Who works for a server: which threads there are, and what they are joined by.
//!
//! | | engine | RPCs come to a worker | slots go back |
//! |---|---|---|---|
//! | [`Kind::Threaded`] | a thread | by a ring | by a ring |
//! | [`Kind::Inline`] | the worker | by a call | by a call |
//! | [`Kind::Shared`], for `mcs-lock` | the workers in turns | at its turn at the lock | likewise |
//! | [`Kind::Stealing`], for `work-stealing` | a thread | by queues that all workers reach | by a ring |

use super::{ServeError, ServerConfig};
use crate::engine::cpu::{Freed, Job, Jobs, WorkerLink};
use crate::engine::{ChannelCache, Engine, Registry};
use crate::worker::{Queues, Steal, Stealing, Worker};
use crossbeam_queue::ArrayQueue;
use nebula_nic::decision::STEAL_CORES_MAX;
use nebula_nic::schedule::Thief;
use nebula_nic::{CoreId, Frontend, Policy};
use nebula_sys::mcs;
use nebula_sys::spsc::{Consumer, Producer, ring};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, channel};

/// How a server's engine and workers are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Threaded,
    Inline,
    Shared,
    Stealing,
}

impl Kind {
    pub(super) fn of(config: &ServerConfig) -> Self {
        match config.policy {
            Policy::McsLock => Self::Shared,
            _ if config.inline => Self::Inline,
            Policy::WorkStealing => Self::Stealing,
            _ => Self::Threaded,
        }
    }

    /// Whether the engine has a thread of its own.
    pub(super) fn has_engine(self) -> bool {
        matches!(self, Self::Threaded | Self::Stealing)
    }
}

/// A worker's ends of what joins it with the engine.
pub(super) enum WorkerEnd {
    Rings { jobs: Consumer<Job>, freed: Producer<Freed> },
    Stealing(Stealing),
}

/// The engine's ends, the workers' ends, and what thieves write into the log.
type Links = (Vec<WorkerLink>, Vec<WorkerEnd>, Option<Receiver<Steal>>);

/// What workers are made of.
pub(super) struct Crew<'a> {
    pub(super) config: &'a ServerConfig,
    /// RPCs that the back end gives a core at most.
    pub(super) bound: u32,
    pub(super) seed: u64,
    pub(super) registry: &'a Arc<Registry>,
    pub(super) stop: &'a Arc<AtomicBool>,
}

impl Crew<'_> {
    /// What joins engine and workers.
    pub(super) fn links(&self) -> Result<Links, ServeError> {
        match Kind::of(self.config) {
            Kind::Inline | Kind::Shared => Ok((Vec::new(), Vec::new(), None)),
            Kind::Threaded => {
                let (links, ends) = self.cores().map(|_| self.rings()).unzip();
                Ok((links, ends, None))
            }
            Kind::Stealing => self.stealing(),
        }
    }

    fn rings(&self) -> (WorkerLink, WorkerEnd) {
        let (jobs, worker_jobs) = ring(self.bound as usize);
        let (worker_freed, freed) = ring(self.bound as usize);
        let end = WorkerEnd::Rings { jobs: worker_jobs, freed: worker_freed };
        (WorkerLink { jobs: Jobs::Own(jobs), freed }, end)
    }

    fn stealing(&self) -> Result<Links, ServeError> {
        let workers = self.config.workers;
        let is_logged = self.config.decision_log.is_some();
        if is_logged && workers > STEAL_CORES_MAX {
            return Err(ServeError::StealsLogged { workers, max: STEAL_CORES_MAX });
        }
        let (sender, steals) = channel();
        let queues: Queues = self.cores().map(|_| ArrayQueue::new(self.bound as usize)).collect();
        let link = |core| self.stealable(core, &queues, is_logged.then(|| sender.clone()));
        let (links, ends) = self.cores().map(link).unzip();
        Ok((links, ends, is_logged.then_some(steals)))
    }

    fn stealable(&self, core: CoreId, queues: &Queues, log: Option<Sender<Steal>>) -> (WorkerLink, WorkerEnd) {
        // One worker may have served all that the queues of all of them held.
        let (worker_freed, freed) = ring(self.bound as usize * queues.len());
        let thief = Thief::new(core, self.config.workers, self.seed);
        let link = WorkerLink { jobs: Jobs::Stealable(queues.clone(), core), freed };
        (link, WorkerEnd::Stealing(Stealing::new(core, queues.clone(), thief, worker_freed, log)))
    }

    /// The workers, and the engine where it is to have a thread of its own.
    pub(super) fn workers(&self, ends: Vec<WorkerEnd>, engine: Engine) -> (Vec<Worker>, Option<Engine>) {
        let (mut workers, engine) = match Kind::of(self.config) {
            Kind::Inline => (vec![Worker::inline(self.frontend(CoreId(0)), self.cache(), engine)], None),
            Kind::Shared => (self.shared(engine), None),
            Kind::Threaded | Kind::Stealing => {
                let workers = self.cores().zip(ends).map(|(core, end)| self.worker(core, end));
                (workers.collect(), Some(engine))
            }
        };
        workers.iter_mut().for_each(|worker| worker.configure(self.config));
        (workers, engine)
    }

    fn worker(&self, core: CoreId, end: WorkerEnd) -> Worker {
        let (frontend, cache, stop) = (self.frontend(core), self.cache(), self.stop.clone());
        match end {
            WorkerEnd::Rings { jobs, freed } => Worker::threaded(frontend, cache, jobs, freed, stop),
            WorkerEnd::Stealing(stealing) => Worker::stealing(frontend, cache, stealing, stop),
        }
    }

    fn shared(&self, engine: Engine) -> Vec<Worker> {
        let places = mcs::lock(engine, usize::from(self.config.workers));
        let worker = |(core, place)| Worker::shared(self.frontend(core), self.cache(), place, self.stop.clone());
        self.cores().zip(places).map(worker).collect()
    }

    fn cores(&self) -> impl Iterator<Item = CoreId> + use<> {
        (0..self.config.workers).map(CoreId)
    }

    fn frontend(&self, core: CoreId) -> Frontend {
        Frontend::new(core, self.bound)
    }

    fn cache(&self) -> ChannelCache {
        ChannelCache::new(self.registry.clone(), self.config.clients_max)
    }
}
