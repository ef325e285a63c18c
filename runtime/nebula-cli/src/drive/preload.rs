//! Stores all keys before the load: a closed loop at the highest rate that the server accepts.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use nebula::{CallError, Client, ClientConfig, Completion, NackReason, SubmitError};
use nebula_nic::Timestamp;
use nebula_workload::{Key, Op, Operation};

use super::connect::connect;
use super::exchange::Requests;
use super::memcached;
use super::plan::LoadPlan;
use nebula_ui::output::Failure;
use nebula_ui::signal;

/// Enough outstanding RPCs to keep a server busy, few enough for a queue bounded by an SLO.
const WINDOW_MAX: usize = 64;
/// The window grows by one after this many replies.
const GROW_EVERY: u64 = 256;
/// After this long without a reply, the preload fails.
const PATIENCE: Duration = Duration::from_secs(10);
/// Empty polls before the thread yields: the server may need this core.
const SPINS: u32 = 1024;
const REPORT_EVERY: u64 = 4096;

/// Stores a value under each key of `plan`, and reports to `progress` how many are stored. A NACK
/// halves the window; its key is sent again later.
pub(crate) fn preload(plan: &LoadPlan, progress: &mut dyn FnMut(u64)) -> Result<(), Failure> {
    if plan.memcached.is_some() {
        return memcached::preload(plan, progress);
    }
    let client = connect(&plan.endpoint, &plan.connected(ClientConfig::default().slots(1024)))?;
    let keys = plan.key_count;
    let mut loader = Loader::new(client, plan);
    while loader.stored < keys {
        loader.fill_window()?;
        if loader.take_one()? && loader.stored.is_multiple_of(REPORT_EVERY) {
            progress(loader.stored);
            signal::check()?;
        }
    }
    progress(keys);
    Ok(())
}

struct Loader {
    client: Client,
    requests: Requests,
    value_bytes: u32,
    keys: u64,
    next: u64,
    again: Vec<u64>,
    under_way: VecDeque<(u64, u64)>,
    window: usize,
    stored: u64,
    idle_polls: u32,
    last_answer: Instant,
}

impl Loader {
    fn new(client: Client, plan: &LoadPlan) -> Self {
        Self {
            client,
            requests: plan.requests(),
            value_bytes: plan.value_bytes,
            keys: plan.key_count,
            next: 0,
            again: Vec::with_capacity(WINDOW_MAX),
            under_way: VecDeque::with_capacity(WINDOW_MAX),
            window: WINDOW_MAX,
            stored: 0,
            idle_polls: 0,
            last_answer: Instant::now(),
        }
    }

    fn fill_window(&mut self) -> Result<(), Failure> {
        while self.under_way.len() < self.window
            && let Some(key) = self.next_key()
        {
            let (request, key_hash) = self.requests.encode(&self.set(key)).map_err(Failure::bad_input)?;
            match self.client.submit_keyed(request, key_hash) {
                Ok(ticket) => self.under_way.push_back((ticket.0, key)),
                Err(SubmitError::Full) => {
                    self.again.push(key);
                    return Ok(());
                }
                Err(error @ SubmitError::TooLarge { .. }) => return Err(Failure::bad_input(error)),
                Err(error) => return Err(Failure::fault(error)),
            }
        }
        Ok(())
    }

    fn next_key(&mut self) -> Option<u64> {
        let fresh = |next: &mut u64| (*next < self.keys).then(|| std::mem::replace(next, *next + 1));
        self.again.pop().or_else(|| fresh(&mut self.next))
    }

    fn set(&self, key: u64) -> Operation {
        Operation { at: Timestamp::ZERO, op: Op::Set, key: Key(key), value_bytes: self.value_bytes }
    }

    /// Receives a reply, if one has arrived; true if it confirms a stored key.
    fn take_one(&mut self) -> Result<bool, Failure> {
        let Some(Completion { ticket, result }) = self.client.poll() else {
            return self.idle().map(|()| false);
        };
        let at = self.under_way.iter().position(|&(under_way, _)| under_way == ticket.0);
        let Some((_, key)) = at.and_then(|at| self.under_way.remove(at)) else {
            return Err(Failure::fault(format!("received two replies to RPC {}", ticket.0)));
        };
        self.idle_polls = 0;
        match result {
            Ok(reply) => {
                let set = Operation { at: Timestamp::ZERO, op: Op::Set, key: Key(key), value_bytes: self.value_bytes };
                self.requests.check(&set, reply).map_err(Failure::fault)?;
                self.stored += 1;
                self.window += usize::from(self.stored.is_multiple_of(GROW_EVERY) && self.window < WINDOW_MAX);
                Ok(true)
            }
            // SET is idempotent, so an RPC of unknown outcome is sent again.
            Err(CallError::TimedOut | CallError::Stale) => {
                self.again.push(key);
                Ok(false)
            }
            Err(CallError::Nack { reason }) if reason != NackReason::TooLarge => {
                self.again.push(key);
                self.window = (self.window / 2).max(1);
                Ok(false)
            }
            Err(error) => Err(Failure::fault(error)),
        }
    }

    fn idle(&mut self) -> Result<(), Failure> {
        self.idle_polls += 1;
        if self.idle_polls == 1 {
            self.last_answer = Instant::now();
        }
        if self.idle_polls.is_multiple_of(1 << 14) {
            signal::check()?;
            if self.last_answer.elapsed() > PATIENCE {
                return Err(Failure::fault("the server has not answered for 10 s"));
            }
        }
        if self.idle_polls > SPINS {
            std::thread::yield_now()
        } else {
            std::hint::spin_loop()
        }
        Ok(())
    }
}
