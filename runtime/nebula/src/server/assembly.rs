//! The engine and workers of a server, and their connection, by its
//! [kind](crate::config::kind::Kind).
//!
//! | policy | threads | an RPC reaches its worker |
//! |---|---|---|
//! | most | listener, engine, one per worker | over an SPSC ring |
//! | inline | listener, one worker that is the engine | by a call |
//! | `mcs-lock` | listener, one per worker | taken from the queue under the lock |
//! | `work-stealing` | listener, engine, one per worker | from its own queue, or stolen |

use crate::config::error::ServeError;
use crate::config::kind::Kind;
use crate::config::server::ServerConfig;
use crate::engine::turn::Engine;
use crate::net::Watch;
use crate::nic::recorder::Choice;
use crate::nic::transport::Transport;
use crate::rpc::description::Description;
use crate::rpc::job::{Jobs, Queues, WorkerLink};
use crate::rpc::parking::Parker;
use crate::status::{Layout, Meter};
use crate::transport::shm::registry::{ChannelCache, Registry};
use crate::ways::core::{Core, Parts};
use crate::ways::inline::{Inline, InlineTransport};
use crate::ways::lock::Lock;
use crate::ways::logged_turns::LoggedTurns;
use crate::ways::preemption::Preemption;
use crate::ways::ring::{Parkers, Ring};
use crate::ways::source::Source;
use crate::ways::stealing::Stealing;
use crate::worker::Worker;
use crossbeam_queue::ArrayQueue;
use nebula_nic::decision::STEAL_CORES_MAX;
use nebula_nic::schedule::Thief;
use nebula_nic::{CoreId, Frontend, Policy};
use nebula_sys::mcs;
use nebula_sys::shared::SharedMemory;
use nebula_sys::spsc::ring;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Sender;

type Links = (Vec<WorkerLink>, Vec<Box<dyn Source>>);

pub(super) struct Meters {
    /// `None` if nothing is sampled.
    pub(super) page: Option<Arc<SharedMemory>>,
    pub(super) layout: Layout,
    /// The part, and the number of its first worker in the server.
    pub(super) engine: usize,
    pub(super) first: usize,
    pub(super) watch: Watch,
    pub(super) description: Description,
}

impl Meters {
    pub(super) fn of(&self, worker: usize) -> Meter {
        match &self.page {
            Some(page) => {
                let at = (self.engine, self.first + worker);
                Meter::new(page.clone(), self.layout, at, &self.watch, &self.description)
            }
            None => Meter::none(&self.watch),
        }
    }
}

pub(super) struct Assembly<'a> {
    pub(super) config: &'a ServerConfig,
    pub(super) bound: u32,
    pub(super) seed: u64,
    pub(super) registry: &'a Arc<Registry>,
    pub(super) stop: &'a Arc<AtomicBool>,
    pub(super) parker: &'a Arc<Parker>,
    pub(super) watch: &'a Watch,
    pub(super) meters: &'a Meters,
    /// Where workers' own machines log their decisions, if there is a decision log.
    pub(super) log: &'a Option<Sender<Choice>>,
}

impl Assembly<'_> {
    pub(super) fn links(&self) -> Result<Links, ServeError> {
        match self.config.kind() {
            Kind::Inline | Kind::Shared => Ok((Vec::new(), Vec::new())),
            Kind::Threaded => {
                let ends = self.cores().map(|_| self.rings()).collect::<Result<Vec<_>, _>>()?;
                Ok(ends.into_iter().unzip())
            }
            Kind::Stealing => self.stealing(),
        }
    }

    fn rings(&self) -> Result<(WorkerLink, Box<dyn Source>), ServeError> {
        let (jobs, worker_jobs) = ring(self.bound as usize);
        let (worker_freed, freed) = ring(self.bound as usize);
        let sleeps_after = self.config.sleeps_after(self.parker);
        let parker = sleeps_after.map(|_| Parker::new().map(Arc::new)).transpose()?;
        let parkers = sleeps_after.zip(parker.clone());
        let parkers = parkers.map(|(after, own)| Parkers { own, engine: self.parker.clone(), after });
        let end = Box::new(Ring::new(worker_jobs, worker_freed, parkers));
        Ok((WorkerLink { jobs: Jobs::Own(jobs), freed, parker }, end))
    }

    fn stealing(&self) -> Result<Links, ServeError> {
        let workers = self.config.workers;
        if self.log.is_some() && workers > STEAL_CORES_MAX {
            return Err(ServeError::StealsLogged { workers, max: STEAL_CORES_MAX });
        }
        let queues: Queues = self.cores().map(|_| ArrayQueue::new(self.bound as usize)).collect();
        Ok(self.cores().map(|core| self.stealable(core, &queues)).unzip())
    }

    fn stealable(&self, core: CoreId, queues: &Queues) -> (WorkerLink, Box<dyn Source>) {
        // One worker may have served the queues of all workers.
        let (worker_freed, freed) = ring(self.bound as usize * queues.len());
        let thief = Thief::new(core, self.config.workers, self.seed);
        let link = WorkerLink { jobs: Jobs::Stealable(queues.clone(), core), freed, parker: None };
        (link, Box::new(Stealing::new(core, queues.clone(), thief, worker_freed, self.log.clone())))
    }

    pub(super) fn workers<T: InlineTransport>(
        &self,
        ends: Vec<Box<dyn Source>>,
        engine: Engine<T>,
    ) -> Result<(Vec<Worker>, Option<Engine<T>>), ServeError> {
        let (mut workers, engine) = match self.config.kind() {
            Kind::Inline => (vec![self.worker(CoreId(0), Box::new(Inline::new(engine)))], None),
            Kind::Shared => (self.shared(engine), None),
            Kind::Threaded | Kind::Stealing => {
                let workers = self.cores().zip(ends).map(|(core, end)| self.worker(core, end));
                (workers.collect(), Some(engine))
            }
        };
        for (index, worker) in workers.iter_mut().enumerate() {
            worker.configure(self.config, self.watch);
            worker.set_meter(self.meters.of(index));
            worker.set_log(self.log.clone());
            if let Policy::Preemptive(quantum) = self.config.policy {
                let turns =
                    LoggedTurns::new(worker.core(), quantum, self.config.suspended_max.into(), self.log.clone());
                worker.set_preemption(Preemption::try_new(turns, quantum, self.config.stack_bytes)?);
            }
        }
        Ok((workers, engine))
    }

    fn shared<T: Transport>(&self, engine: Engine<T>) -> Vec<Worker> {
        let places = mcs::lock(engine, usize::from(self.config.workers));
        self.cores().zip(places).map(|(core, place)| self.worker(core, Box::new(Lock::new(place, core)))).collect()
    }

    fn worker(&self, core: CoreId, source: Box<dyn Source>) -> Worker {
        let channels = ChannelCache::new(self.registry.clone(), self.config.clients_max);
        let frontend = Frontend::new(core, self.bound);
        Worker::new(Core::new(source, Parts { frontend, channels, stop: self.stop.clone() }))
    }

    fn cores(&self) -> impl Iterator<Item = CoreId> + use<> {
        (0..self.config.workers).map(CoreId)
    }
}
