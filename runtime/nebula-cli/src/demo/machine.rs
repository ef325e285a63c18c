//! How the demo divides the machine: cores for the service, cores for the clients, memory for the store.

use nebula_kvs::Mode;
use nebula_sys::affinity::allowed_cores;

use crate::memory;

/// The available cores.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    cores: Vec<usize>,
}

/// The most workers that the demo starts: more would need more client cores than a machine has left.
const WORKERS_MAX: usize = 8;

impl Machine {
    pub(super) fn look() -> Self {
        Self { cores: allowed_cores() }
    }

    /// Workers, each on a core other than the engine's; 0 on a small machine, where one thread is engine and worker.
    pub(super) fn workers(&self) -> usize {
        if self.cores.len() < 4 { 0 } else { (self.cores.len() / 2 - 1).min(WORKERS_MAX) }
    }

    /// The cores of the service: the last of the machine, beginning with the engine's.
    pub(super) fn service_cores(&self) -> &[usize] {
        &self.cores[self.cores.len() - (self.workers() + 1).min(self.cores.len())..]
    }

    /// The cores of the clients: the others, or the only one.
    pub(super) fn client_cores(&self) -> Vec<usize> {
        let others = self.cores.len() - self.service_cores().len();
        self.cores[..others.max(1)].to_vec()
    }

    /// Client threads, each with a core.
    pub(super) fn clients(&self) -> u16 {
        u16::try_from(self.client_cores().len()).unwrap_or(u16::MAX)
    }
}

impl std::fmt::Display for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (cores, clients) = (self.cores.len(), self.clients());
        match self.workers() {
            0 => write!(f, "{cores} cores: one for engine and worker, {clients} for clients"),
            workers => write!(f, "{cores} cores: one for the engine, {workers} for workers, {clients} for clients"),
        }
    }
}

/// How many of `wanted` pairs fit into free memory.
pub(super) fn items_that_fit(wanted: u64, value_bytes: u32) -> u64 {
    wanted.min(memory::items_that_fit(value_bytes, Mode::Cache, memory::budget_bytes()))
}
