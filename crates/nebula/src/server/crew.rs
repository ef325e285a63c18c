//! Who works for a server: which threads there are, and what they are joined by.
//!
//! | | engine | RPCs come to a worker | slots go back |
//! |---|---|---|---|
//! | [`Kind::Threaded`] | a thread | by a ring | by a ring |
//! | [`Kind::Inline`] | the worker | by a call | by a call |
//! | [`Kind::Shared`], for `mcs-lock` | the workers in turns | at its turn at the lock | likewise |
//! | [`Kind::Stealing`], for `work-stealing` | a thread | by queues that all workers reach | by a ring |

use super::{IdlePolicy, ServeError, ServerConfig};
use crate::engine::Engine;
use crate::engine::bell::Bell;
use crate::engine::cpu::{Job, Jobs, Served, WorkerLink};
use crate::net::Watch;
use crate::transport::shm::registry::{ChannelCache, Registry};
use crate::worker::{Bells, Choice, LoggedTurns, Preemption, Queues, Stealing, Worker};
use crossbeam_queue::ArrayQueue;
use nebula_nic::decision::STEAL_CORES_MAX;
use nebula_nic::schedule::Thief;
use nebula_nic::{CoreId, Frontend, Policy};
use nebula_sys::mcs;
use nebula_sys::spsc::{Consumer, Producer, ring};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Sender;

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

    /// Whether all threads can sleep until something comes: none looks for work where others leave it.
    pub(super) fn sleeps(self) -> bool {
        matches!(self, Self::Threaded | Self::Inline)
    }

    /// Whether the engine has its own thread.
    pub(super) fn has_engine(self) -> bool {
        matches!(self, Self::Threaded | Self::Stealing)
    }
}

/// A worker's ends of what joins it with the engine.
pub(super) enum WorkerEnd {
    Rings { jobs: Consumer<Job>, freed: Producer<Served>, bells: Option<Bells> },
    Stealing(Stealing),
}

/// The engine's ends, and the workers'.
type Links = (Vec<WorkerLink>, Vec<WorkerEnd>);

/// What workers are made of.
pub(super) struct Crew<'a> {
    pub(super) config: &'a ServerConfig,
    /// RPCs that the back end gives a core at most.
    pub(super) bound: u32,
    pub(super) seed: u64,
    pub(super) registry: &'a Arc<Registry>,
    pub(super) stop: &'a Arc<AtomicBool>,
    /// What wakes the engine.
    pub(super) bell: &'a Arc<Bell>,
    pub(super) watch: &'a Watch,
    /// Where workers' own machines write what they decide, if there is a decision log.
    pub(super) log: &'a Option<Sender<Choice>>,
}

impl Crew<'_> {
    /// What joins engine and workers.
    pub(super) fn links(&self) -> Result<Links, ServeError> {
        match Kind::of(self.config) {
            Kind::Inline | Kind::Shared => Ok((Vec::new(), Vec::new())),
            Kind::Threaded => {
                let ends = self.cores().map(|_| self.rings()).collect::<Result<Vec<_>, _>>()?;
                Ok(ends.into_iter().unzip())
            }
            Kind::Stealing => self.stealing(),
        }
    }

    fn rings(&self) -> Result<(WorkerLink, WorkerEnd), ServeError> {
        let (jobs, worker_jobs) = ring(self.bound as usize);
        let (worker_freed, freed) = ring(self.bound as usize);
        let sleeps = self.config.idle == IdlePolicy::Block;
        let bell = if sleeps { Some(Arc::new(Bell::new()?)) } else { None };
        let bells = bell.clone().map(|own| Bells { own, engine: self.bell.clone() });
        let end = WorkerEnd::Rings { jobs: worker_jobs, freed: worker_freed, bells };
        Ok((WorkerLink { jobs: Jobs::Own(jobs), freed, bell }, end))
    }

    fn stealing(&self) -> Result<Links, ServeError> {
        let workers = self.config.workers;
        if self.log.is_some() && workers > STEAL_CORES_MAX {
            return Err(ServeError::StealsLogged { workers, max: STEAL_CORES_MAX });
        }
        let queues: Queues = self.cores().map(|_| ArrayQueue::new(self.bound as usize)).collect();
        Ok(self.cores().map(|core| self.stealable(core, &queues)).unzip())
    }

    fn stealable(&self, core: CoreId, queues: &Queues) -> (WorkerLink, WorkerEnd) {
        // One worker may have served all that the queues of all of them held.
        let (worker_freed, freed) = ring(self.bound as usize * queues.len());
        let thief = Thief::new(core, self.config.workers, self.seed);
        let link = WorkerLink { jobs: Jobs::Stealable(queues.clone(), core), freed, bell: None };
        (link, WorkerEnd::Stealing(Stealing::new(core, queues.clone(), thief, worker_freed, self.log.clone())))
    }

    /// The workers, and the engine where it has its own thread.
    pub(super) fn workers(
        &self,
        ends: Vec<WorkerEnd>,
        engine: Engine,
    ) -> Result<(Vec<Worker>, Option<Engine>), ServeError> {
        let (mut workers, engine) = match Kind::of(self.config) {
            Kind::Inline => (vec![Worker::inline(self.frontend(CoreId(0)), self.cache(), engine)], None),
            Kind::Shared => (self.shared(engine), None),
            Kind::Threaded | Kind::Stealing => {
                let workers = self.cores().zip(ends).map(|(core, end)| self.worker(core, end));
                (workers.collect(), Some(engine))
            }
        };
        for worker in &mut workers {
            worker.configure(self.config, self.watch);
            if let Policy::Preemptive(quantum) = self.config.policy {
                let turns =
                    LoggedTurns::new(worker.core(), quantum, self.config.suspended_max.into(), self.log.clone());
                worker.set_preemption(Preemption::try_new(turns, quantum, self.config.stack_bytes)?);
            }
        }
        Ok((workers, engine))
    }

    fn worker(&self, core: CoreId, end: WorkerEnd) -> Worker {
        let (frontend, cache, stop) = (self.frontend(core), self.cache(), self.stop.clone());
        match end {
            WorkerEnd::Rings { jobs, freed, bells } => Worker::threaded(frontend, cache, jobs, freed, bells, stop),
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
