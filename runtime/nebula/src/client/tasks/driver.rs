//! The thread that sleeps for the clients of many tasks, and looks after one that something has
//! come for.
//!
//! There is one for all such clients of a process, while there are any. It sleeps in `epoll` on a
//! descriptor of each, until the earliest time that one of them has asked for. Clients that nothing
//! comes for cost it nothing.

use nebula_nic::Span;
use nebula_sys::clock::Clock;
use nebula_sys::fork::ForkMark;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// A client, as the driver knows it.
pub(super) trait Attended: Send + Sync {
    /// Takes what has come. Returns when to come again although nothing has come, in ticks of the
    /// clock.
    fn attend(&self) -> Option<u64>;
}

/// What the driver watches a client's descriptor for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Watch {
    /// Whatever comes.
    Always,
    /// The first that comes after [`Registration::watch_once`].
    OnRequest,
}

/// The number under which the driver is woken itself.
const OWN: u64 = u64::MAX;
/// Clients attended to between two calls of the kernel.
const EVENTS: usize = 64;

/// The process's driver, while there are clients.
static CURRENT: Mutex<Option<Arc<Driver>>> = Mutex::new(None);

#[derive(Debug)]
struct Driver {
    epoll: OwnedFd,
    /// Wakes the thread.
    parker: OwnedFd,
    mark: ForkMark,
    clients: Mutex<Clients>,
}

#[derive(Debug, Default)]
struct Clients {
    /// By number.
    list: Vec<Option<Weak<dyn Attended>>>,
    free: Vec<u32>,
    /// When who has asked to be attended to, not yet known to the thread.
    asked: Vec<(u64, u32)>,
    registered: u32,
    is_over: bool,
}

/// A client's place at the driver. The driver forgets the client when it is dropped.
#[derive(Debug)]
pub(super) struct Registration {
    driver: Arc<Driver>,
    number: u32,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Registration {
    /// A place at the process's driver, which is started if there is none.
    pub(super) fn new() -> io::Result<Self> {
        let mut current = locked(&CURRENT);
        // In a fork of the process, the thread is missing.
        let driver = match current.take().filter(|driver| !driver.mark.is_forked()) {
            Some(driver) => driver,
            None => start()?,
        };
        let number = locked(&driver.clients).enroll();
        *current = Some(driver.clone());
        Ok(Self { driver, number })
    }

    /// Says who is attended to, and which descriptor tells that something has come.
    pub(super) fn attach(
        &self,
        client: Weak<dyn Attended>,
        descriptor: BorrowedFd<'_>,
        watch: Watch,
    ) -> io::Result<()> {
        locked(&self.driver.clients).list[self.number as usize] = Some(client);
        let flags = match watch {
            // An edge: what was not taken off is no reason to come again, and the end of the other
            // side is one once.
            Watch::Always => EventFlags::IN | EventFlags::RDHUP | EventFlags::ET,
            Watch::OnRequest => EventFlags::ONESHOT,
        };
        Ok(epoll::add(&self.driver.epoll, descriptor, EventData::new_u64(self.number.into()), flags)?)
    }

    /// Attends to the client once something has come, or has come already.
    pub(super) fn watch_once(&self, descriptor: BorrowedFd<'_>) {
        if self.is_forked() {
            return;
        }
        let data = EventData::new_u64(self.number.into());
        // It fails only for a descriptor that is not registered.
        let _ = epoll::modify(&self.driver.epoll, descriptor, data, EventFlags::IN | EventFlags::ONESHOT);
    }

    /// Attends to the client at `ticks` of the clock.
    pub(super) fn attend_at(&self, ticks: u64) {
        if self.is_forked() {
            return;
        }
        locked(&self.driver.clients).asked.push((ticks, self.number));
        self.driver.wake();
    }

    /// Ceases to watch a descriptor, which is about to be closed.
    pub(super) fn detach(&self, descriptor: BorrowedFd<'_>) {
        if !self.is_forked() {
            let _ = epoll::delete(&self.driver.epoll, descriptor);
        }
    }

    /// Whether the driver, and what it watches, are those of the process that this one is a fork
    /// of, and to be left alone.
    fn is_forked(&self) -> bool {
        self.driver.mark.is_forked()
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if self.is_forked() {
            return;
        }
        let mut current = locked(&CURRENT);
        let mut clients = locked(&self.driver.clients);
        clients.leave(self.number);
        if clients.registered == 0 {
            clients.is_over = true;
            current.take_if(|current| Arc::ptr_eq(current, &self.driver));
            self.driver.wake();
        }
    }
}

impl Clients {
    fn enroll(&mut self) -> u32 {
        self.registered += 1;
        self.free.pop().unwrap_or_else(|| {
            self.list.push(None);
            u32::try_from(self.list.len() - 1).unwrap_or(u32::MAX)
        })
    }

    fn leave(&mut self, number: u32) {
        self.registered -= 1;
        self.list[number as usize] = None;
        self.free.push(number);
    }
}

/// Starts a driver.
fn start() -> io::Result<Arc<Driver>> {
    let driver = Arc::new(Driver {
        epoll: epoll::create(CreateFlags::CLOEXEC)?,
        parker: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        mark: ForkMark::new()?,
        clients: Mutex::default(),
    });
    epoll::add(&driver.epoll, &driver.parker, EventData::new_u64(OWN), EventFlags::IN | EventFlags::ET)?;
    let run = driver.clone();
    std::thread::Builder::new().name("nebula-client".to_owned()).spawn(move || run.run())?;
    Ok(driver)
}

impl Driver {
    fn wake(&self) {
        let _ = rustix::io::write(&self.parker, &1_u64.to_ne_bytes());
    }

    /// Attends to clients until there are none.
    fn run(&self) {
        let clock = Clock::new();
        let mut timers = Timers::default();
        let mut events = [MaybeUninit::<Event>::uninit(); EVENTS];
        while !locked(&self.clients).is_over {
            let timeout = timers.first().map(|due| until(clock, due));
            let come = match epoll::wait(&self.epoll, &mut events, timeout.as_ref()) {
                Ok((come, _)) => &*come,
                // A signal, or no memory: what waits is found the next time.
                Err(Errno::INTR | _) => &[],
            };
            for event in come {
                let number = event.data.u64();
                if number == OWN {
                    let _ = rustix::io::read(&self.parker, &mut [0; 8]);
                } else if let Ok(number) = u32::try_from(number) {
                    self.attend(number, &mut timers);
                }
            }
            for (due, number) in locked(&self.clients).asked.drain(..) {
                timers.set_earlier(number, due);
            }
            while let Some(number) = timers.take_due(clock.ticks()) {
                self.attend(number, &mut timers);
            }
        }
    }

    fn attend(&self, number: u32, timers: &mut Timers) {
        let client = locked(&self.clients).list.get(number as usize).cloned().flatten();
        // The client may be dropped here, which takes the lock: so the lock is not held.
        if let Some(client) = client.and_then(|client| client.upgrade()) {
            timers.set(number, client.attend());
        }
    }
}

/// When clients are to be attended to although nothing comes: one time each.
#[derive(Debug, Default)]
struct Timers {
    /// By time, then by number.
    list: BTreeSet<(u64, u32)>,
    /// By number.
    due: Vec<Option<u64>>,
}

impl Timers {
    fn first(&self) -> Option<u64> {
        self.list.first().map(|&(due, _)| due)
    }

    /// The time of a client, in place of the one before.
    fn set(&mut self, number: u32, due: Option<u64>) {
        let at = number as usize;
        if self.due.len() <= at {
            self.due.resize(at + 1, None);
        }
        if self.due[at] == due {
            return;
        }
        if let Some(before) = std::mem::replace(&mut self.due[at], due) {
            self.list.remove(&(before, number));
        }
        self.list.extend(due.map(|due| (due, number)));
    }

    /// The same, unless that one is earlier.
    fn set_earlier(&mut self, number: u32, due: u64) {
        if self.due.get(number as usize).copied().flatten().is_none_or(|before| due < before) {
            self.set(number, Some(due));
        }
    }

    /// A client whose time has come, which has none then.
    fn take_due(&mut self, now: u64) -> Option<u32> {
        let &(_, number) = self.list.first().filter(|(due, _)| *due <= now)?;
        self.set(number, None);
        Some(number)
    }
}

/// How long until `due`, rounded up, so that it is over when the wait is.
fn until(clock: Clock, due: u64) -> Timespec {
    let left = Span::from_ps(clock.ps(due.saturating_sub(clock.ticks())));
    let nanos = left.as_ps().div_ceil(1000);
    let (seconds, nanos) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    Timespec { tv_sec: i64::try_from(seconds).unwrap_or(i64::MAX), tv_nsec: i64::try_from(nanos).unwrap_or(0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_has_one_time_and_comes_up_once() {
        let mut timers = Timers::default();
        timers.set(3, Some(30));
        timers.set(1, Some(20));
        timers.set(3, Some(10));
        assert_eq!((timers.first(), timers.take_due(9)), (Some(10), None));
        assert_eq!((timers.take_due(25), timers.take_due(25), timers.take_due(25)), (Some(3), Some(1), None));
        timers.set_earlier(3, 50);
        timers.set_earlier(3, 60);
        timers.set_earlier(3, 40);
        assert_eq!(timers.first(), Some(40));
        timers.set(3, None);
        assert_eq!((timers.first(), timers.take_due(u64::MAX)), (None, None));
    }
}
