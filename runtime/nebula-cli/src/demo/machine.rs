//! Divides cores and memory between the service and the clients.

use nebula_kvs::Mode;
use nebula_sys::affinity::allowed_cores;

use crate::memory;

#[derive(Clone, Debug)]
pub(super) struct Machine {
    cores: Vec<usize>,
}

/// More workers would need more client cores than a machine has left.
const WORKERS_MAX: usize = 8;

impl Machine {
    pub(super) fn look() -> Self {
        Self { cores: allowed_cores() }
    }

    /// Workers, each on a core other than the engine's. 0 means one thread for engine and worker,
    /// which is faster than an engine with a single worker.
    pub(super) fn workers(&self) -> usize {
        let workers = (self.cores.len() / 2).saturating_sub(1).min(WORKERS_MAX);
        if workers < 2 { 0 } else { workers }
    }

    pub(super) fn serving(&self) -> u16 {
        u16::try_from(self.workers().max(1)).unwrap_or(u16::MAX)
    }

    /// The last cores of the machine, the engine's first.
    pub(super) fn service_cores(&self) -> &[usize] {
        &self.cores[self.cores.len() - (self.workers() + 1).min(self.cores.len())..]
    }

    pub(super) fn client_cores(&self) -> Vec<usize> {
        let others = self.cores.len() - self.service_cores().len();
        self.cores[..others.max(1)].to_vec()
    }

    pub(super) fn clients(&self) -> u16 {
        u16::try_from(self.client_cores().len()).unwrap_or(u16::MAX)
    }
}

impl std::fmt::Display for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let clients = match self.clients() {
            1 => "one client".to_owned(),
            clients => format!("{clients} clients"),
        };
        match (self.cores.len(), self.workers()) {
            (1, _) => write!(f, "One inline worker, and {clients} on the same core"),
            (_, 0) => {
                write!(f, "One inline worker (one thread is engine and worker) on a core, {clients} on the other cores")
            }
            (_, workers) => write!(f, "One engine and {workers} workers, and {clients}, each on its own core"),
        }
    }
}

pub(super) fn items_that_fit(wanted: u64, value_bytes: u32) -> u64 {
    wanted.min(memory::items_that_fit(value_bytes, Mode::Cache, memory::budget_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(cores: usize) -> Machine {
        Machine { cores: (0..cores).collect() }
    }

    #[test]
    fn two_cores_have_an_inline_worker_and_a_client() {
        let machine = machine(2);
        assert_eq!((machine.workers(), machine.serving(), machine.clients()), (0, 1, 1));
        assert_eq!((machine.service_cores(), machine.client_cores()), (&[1][..], vec![0]));
        assert!(
            machine
                .to_string()
                .starts_with("One inline worker (one thread is engine and worker) on a core, one client")
        );
    }

    #[test]
    fn no_core_has_two_threads_where_there_are_two_or_more() {
        for cores in 2..64 {
            let machine = machine(cores);
            assert!(machine.service_cores().len() + machine.client_cores().len() <= cores, "{cores}");
            assert_eq!(machine.service_cores().len(), machine.workers() + 1);
            assert_ne!(machine.workers(), 1, "one worker is inline");
        }
        assert_eq!(machine(1).client_cores(), machine(1).service_cores());
    }
}
