//! The polling threads of a server, and the cores available for them.

use crate::config::error::ServeError;
use crate::config::kind::Kind;
use crate::config::server::ServerConfig;
use nebula_sys::affinity::allowed_cores;
use nebula_sys::limits::Limits;
use std::fmt;

/// The cores that this process may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cores {
    allowed: usize,
    usable: usize,
    quota_millicores: Option<u64>,
}

impl Cores {
    /// Those of the calling thread, by its affinity mask and the CPU quota of its
    /// [control groups](Limits), rounded down, at least one.
    #[must_use]
    pub fn of_this_process() -> Self {
        let allowed = allowed_cores().len();
        let quota_millicores = Limits::of_this_process().cpu_millicores;
        let quota_millicores = quota_millicores.filter(|&quota| quota < 1000 * allowed as u64);
        let quota = quota_millicores.map_or(allowed, |quota| usize::try_from(quota / 1000).unwrap_or(allowed));
        Self { allowed, usable: quota.clamp(1, allowed.max(1)), quota_millicores }
    }

    /// The processor time that the process may take, in thousandths of a core, if that is less than
    /// its cores have.
    #[must_use]
    pub fn quota_millicores(self) -> Option<u64> {
        self.quota_millicores
    }

    /// Their number.
    #[must_use]
    pub fn number(self) -> usize {
        self.usable
    }
}

impl fmt::Display for Cores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", counted(self.usable, "core"))?;
        match self.quota_millicores {
            None => Ok(()),
            Some(quota) => write!(f, ", by a CPU quota of {} of {}", quota as f64 / 1000.0, self.allowed),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    Asked,
    OneWorkerEach,
    WorkersShareEngine,
    Pinned,
    OwnWorkers,
    Lock,
}

/// The polling threads of a server, the reason for them, and the number of cores. Displays as one
/// line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threads {
    engines: usize,
    workers: usize,
    kind: Kind,
    why: Why,
    cores: Cores,
}

impl Threads {
    fn of(config: &ServerConfig, why: Why) -> Self {
        let (kind, cores) = (config.kind(), Cores::of_this_process());
        let why = if kind == Kind::Shared { Why::Lock } else { why };
        Self { engines: config.engine_threads(), workers: config.workers.into(), kind, why, cores }
    }

    /// The number of workers, and of engines with their own threads.
    #[must_use]
    pub fn number(&self) -> usize {
        self.engines + self.workers
    }

    /// Engines with their own threads.
    #[must_use]
    pub fn engines(&self) -> usize {
        self.engines
    }

    /// The cores that this process may use.
    #[must_use]
    pub fn cores(&self) -> Cores {
        self.cores
    }

    /// # Errors
    ///
    /// There are more threads than cores.
    pub(crate) fn check(&self) -> Result<(), ServeError> {
        let cores = self.cores.number();
        if self.number() <= cores {
            return Ok(());
        }
        Err(ServeError::Oversubscribed { workers: self.workers, engines: self.engines, cores })
    }
}

impl fmt::Display for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let workers = counted(self.workers, "worker");
        match self.kind {
            Kind::Inline if self.workers == 1 => write!(f, "engine and worker on one thread")?,
            Kind::Inline => write!(f, "{workers}, each on one thread with its engine")?,
            Kind::Shared => write!(f, "{workers} and no engine thread")?,
            Kind::Threaded | Kind::Stealing => {
                write!(f, "{} and {workers}, each on its own thread", counted(self.engines, "engine"))?;
            }
        }
        let why = match self.why {
            Why::Asked => "as was asked for",
            Why::OneWorkerEach if self.workers == 1 => "as one worker needs no other",
            Why::OneWorkerEach => "as no engine has two",
            Why::WorkersShareEngine => "as workers share an engine",
            Why::Pinned => "as a core is named for the engine",
            Why::OwnWorkers => "as the workers are the caller's",
            Why::Lock => "as under mcs-lock workers take turns as the engine",
        };
        write!(f, ", {why}; this process may use {}", self.cores)?;
        if self.number() > self.cores.number() { write!(f, ", which is fewer") } else { Ok(()) }
    }
}

fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

impl ServerConfig {
    /// The threads that [`Server::serve`](crate::Server::serve) would start, and why.
    ///
    /// # Examples
    ///
    /// ```
    /// use nebula::ServerConfig;
    ///
    /// assert_eq!(ServerConfig::default().threads().number(), 1);
    /// assert_eq!(ServerConfig::default().workers(2).threads().number(), 3); // and an engine
    /// assert_eq!(ServerConfig::default().inline(false).threads().number(), 2);
    /// ```
    #[must_use]
    pub fn threads(&self) -> Threads {
        let mut chosen = self.clone();
        chosen.inline.get_or_insert(self.is_inline_by_default());
        Threads::of(&chosen, self.why())
    }

    fn why(&self) -> Why {
        match self.inline {
            Some(_) => Why::Asked,
            None if self.is_inline_by_default() => Why::OneWorkerEach,
            None if self.has_one_worker_each() => Why::Pinned,
            None => Why::WorkersShareEngine,
        }
    }

    /// The threads of a server whose workers are the caller's, workers included.
    pub(crate) fn threads_of_own(&self) -> Threads {
        Threads::of(self, if self.inline.is_some() { Why::Asked } else { Why::OwnWorkers })
    }

    /// Chooses what the configuration leaves open about the threads. Returns the reason too.
    pub(crate) fn with_threads_chosen(mut self) -> (Self, Threads) {
        let threads = self.threads();
        self.inline.get_or_insert(self.is_inline_by_default());
        (self, threads)
    }

    /// Each engine has one worker, and no core is named for an engine.
    fn is_inline_by_default(&self) -> bool {
        self.has_one_worker_each() && self.pin.len() <= usize::from(self.workers)
    }

    fn has_one_worker_each(&self) -> bool {
        self.groups() == 1 && self.workers == self.engines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nebula_sys::affinity::pin_to;

    fn engines(config: &ServerConfig) -> usize {
        config.threads().engines()
    }

    #[test]
    fn one_worker_is_the_engine_too_unless_it_is_said_or_a_core_is_named_for_the_engine() {
        let config = ServerConfig::default;
        assert_eq!(engines(&config()), 0);
        assert_eq!(engines(&config().pin([0])), 0);
        assert_eq!(engines(&config().pin([0, 1])), 1);
        assert_eq!(engines(&config().inline(true).pin([0, 1])), 0);
        assert_eq!(engines(&config().inline(false)), 1);
        assert_eq!(engines(&config().workers(2)), 1);
        assert_eq!(engines(&config().workers(2).engines(2)), 0);
        assert_eq!(engines(&config().policy("altocumulus:2".parse().expect("a policy")).workers(2)), 2);
        assert_eq!(engines(&config().policy("mcs-lock".parse().expect("a policy")).workers(2)), 0);
    }

    #[test]
    fn a_thread_that_is_pinned_has_one_core_and_no_room_for_an_engine() {
        let core = allowed_cores()[0];
        let pinned = move || pin_to(core).map(|()| ServerConfig::default().inline(false).threads());
        let threads = std::thread::spawn(pinned).join().expect("it ends").expect("pinned");
        assert_eq!(threads.cores().number(), 1);
        assert!(matches!(threads.check(), Err(ServeError::Oversubscribed { workers: 1, engines: 1, cores: 1 })));
        assert!(threads.to_string().ends_with("this process may use 1 core, which is fewer"), "{threads}");
    }

    #[test]
    fn the_line_says_which_threads_there_are_and_why() {
        let line = |config: ServerConfig| config.threads().to_string();
        let of_default = line(ServerConfig::default());
        let begins = "engine and worker on one thread, as one worker needs no other; this process may use ";
        assert!(of_default.starts_with(begins), "{of_default}");
        let of_four = line(ServerConfig::default().workers(4));
        assert!(of_four.starts_with("1 engine and 4 workers, each on its own thread, as workers share an engine;"));
        let asked = line(ServerConfig::default().inline(false));
        assert!(asked.starts_with("1 engine and 1 worker, each on its own thread, as was asked for;"), "{asked}");
    }
}
