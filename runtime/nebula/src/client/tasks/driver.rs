//! The thread that sleeps for the asynchronous clients of a process, and attends to one when
//! something has arrived.
//!
//! It exists while there are such clients. It sleeps in `epoll` on a descriptor of each until the
//! earliest time that one of them asked for. Idle clients cost it nothing.

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
use std::time::Duration;

pub(super) trait Attended: Send + Sync {
    /// Takes what has arrived. Returns when to attend again in any case, in ticks of the clock.
    fn attend(&self) -> Option<u64>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Watch {
    Always,
    OnRequest,
}

/// The event number of the driver's own wake-up.
const OWN: u64 = u64::MAX;
/// Clients attended to per system call.
const EVENTS: usize = 64;

static CURRENT: Mutex<Option<Arc<Driver>>> = Mutex::new(None);

#[derive(Debug)]
struct Driver {
    epoll: OwnedFd,
    parker: OwnedFd,
    mark: ForkMark,
    clients: Mutex<Clients>,
}

#[derive(Debug, Default)]
struct Clients {
    list: Vec<Option<Weak<dyn Attended>>>,
    free: Vec<u32>,
    asked: Vec<(u64, u32)>,
    registered: u32,
    is_over: bool,
}

/// A client's place at the driver, which forgets the client on drop.
#[derive(Debug)]
pub(super) struct Registration {
    driver: Arc<Driver>,
    number: u32,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Registration {
    /// A place at the process's driver, which this starts if there is none.
    pub(super) fn new() -> io::Result<Self> {
        let mut current = locked(&CURRENT);
        // A fork of the process lacks the thread.
        let driver = match current.take().filter(|driver| !driver.mark.is_forked()) {
            Some(driver) => driver,
            None => start()?,
        };
        let number = locked(&driver.clients).enroll();
        *current = Some(driver.clone());
        Ok(Self { driver, number })
    }

    pub(super) fn attach(
        &self,
        client: Weak<dyn Attended>,
        descriptor: BorrowedFd<'_>,
        watch: Watch,
    ) -> io::Result<()> {
        locked(&self.driver.clients).list[self.number as usize] = Some(client);
        let flags = match watch {
            // Edge-triggered: unread bytes and a closed peer are reported only once.
            Watch::Always => EventFlags::IN | EventFlags::RDHUP | EventFlags::ET,
            Watch::OnRequest => EventFlags::ONESHOT,
        };
        Ok(epoll::add(&self.driver.epoll, descriptor, EventData::new_u64(self.number.into()), flags)?)
    }

    pub(super) fn watch_once(&self, descriptor: BorrowedFd<'_>) {
        if self.is_forked() {
            return;
        }
        let data = EventData::new_u64(self.number.into());
        // It fails only for a descriptor that is not registered.
        let _ = epoll::modify(&self.driver.epoll, descriptor, data, EventFlags::IN | EventFlags::ONESHOT);
    }

    pub(super) fn attend_at(&self, ticks: u64) {
        if self.is_forked() {
            return;
        }
        locked(&self.driver.clients).asked.push((ticks, self.number));
        self.driver.wake();
    }

    pub(super) fn detach(&self, descriptor: BorrowedFd<'_>) {
        if !self.is_forked() {
            let _ = epoll::delete(&self.driver.epoll, descriptor);
        }
    }

    /// Whether this process is a fork and the driver is the parent's, to be left alone.
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

    fn run(&self) {
        let clock = Clock::new();
        let mut timers = Timers::default();
        let mut events = [MaybeUninit::<Event>::uninit(); EVENTS];
        while !locked(&self.clients).is_over {
            let timeout = timers.first().map(|due| until(clock, due));
            let come = match epoll::wait(&self.epoll, &mut events, timeout.as_ref()) {
                Ok((come, _)) => &*come,
                // A signal, or no memory: the next wait finds it.
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
        // Not under the lock: dropping the client takes it.
        if let Some(client) = client.and_then(|client| client.upgrade()) {
            timers.set(number, client.attend());
        }
    }
}

/// When to attend to clients without an arrival: one time each.
#[derive(Debug, Default)]
struct Timers {
    list: BTreeSet<(u64, u32)>,
    due: Vec<Option<u64>>,
}

impl Timers {
    fn first(&self) -> Option<u64> {
        self.list.first().map(|&(due, _)| due)
    }

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

    /// As [`set`](Self::set), unless the time before is earlier.
    fn set_earlier(&mut self, number: u32, due: u64) {
        if self.due.get(number as usize).copied().flatten().is_none_or(|before| due < before) {
            self.set(number, Some(due));
        }
    }

    fn take_due(&mut self, now: u64) -> Option<u32> {
        let &(_, number) = self.list.first().filter(|(due, _)| *due <= now)?;
        self.set(number, None);
        Some(number)
    }
}

/// How long until `due`, rounded up, so that `due` is over after the wait.
fn until(clock: Clock, due: u64) -> Timespec {
    let left = Span::from_ps(clock.ps(due.saturating_sub(clock.ticks())));
    // The longest wait is some 213 days, which fits.
    Timespec::try_from(Duration::from_nanos(left.as_ps().div_ceil(1000))).unwrap_or_default()
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
