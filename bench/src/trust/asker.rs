//! An open-loop client of the library. Its latencies are measured with and without the RPCs that
//! met a pause of the machine, at the client or at the server.

use crate::Failure;
use nebula::{CallError, Client, ClientConfig, StatusReader, SubmitError};
use nebula_nic::{Span, Timestamp};
use nebula_sys::clock::Clock;
use nebula_workload::{Gap, GapDetector, GapLog, Latency, Tails};

/// Asks for the server's gaps over UDP; over shared memory they are on its page.
pub const GAPS: &[u8] = b"gaps";
/// An iteration this long was a pause. One with a datagram of a flood takes some microseconds.
const PAUSE: Span = Span::from_us(20);
const GAPS_MAX: usize = 1 << 16;
/// 16 bytes each; they fit into the longest reply.
const SAID_GAPS_MAX: usize = 4000;
/// RPCs that are kept until the gaps are known.
const PENDING_MAX: usize = 1 << 21;
/// The most RPCs submitted in an iteration: a backlog after a pause takes several.
const PER_TURN: u64 = 16;

#[derive(Clone, Copy, Debug, Default)]
pub struct Asked {
    pub due: u64,
    pub replied: u64,
    pub nacked: u64,
    pub refused: u64,
}

pub struct Asker {
    client: Client,
    clock: Clock,
    rps: f64,
    request: Vec<u8>,
    started_ps: u64,
    submitted_ps: Vec<u64>,
    /// RPCs from this ticket on count.
    counted_from: u64,
    pauses: GapDetector,
    pub asked: Asked,
    tails: Tails,
    guard: Span,
}

impl Asker {
    /// RPCs that began within `guard` after a pause count as having met it: the queue was as long
    /// as the SLO allows.
    pub fn connect(endpoint: &str, (rps, slots): (f64, u32), guard: Span) -> Result<Self, Failure> {
        let client = Client::connect_with(endpoint, ClientConfig::default().slots(slots))?;
        let clock = Clock::new();
        Ok(Self {
            client,
            clock,
            rps,
            request: vec![7; 64],
            started_ps: clock.now_ps(),
            submitted_ps: Vec::new(),
            counted_from: 0,
            pauses: GapDetector::new(PAUSE, GAPS_MAX),
            asked: Asked::default(),
            tails: tails(guard),
            guard,
        })
    }

    /// Counts from now on.
    pub fn restart(&mut self) {
        (self.asked, self.tails, self.started_ps) = (Asked::default(), tails(self.guard), self.clock.now_ps());
        self.counted_from = self.submitted_ps.len() as u64;
    }

    /// Submits RPCs that are due, and receives replies.
    pub fn turn(&mut self) -> Result<(), Failure> {
        let now_ps = self.clock.now_ps();
        self.pauses.observe(at(now_ps));
        let due = ((now_ps - self.started_ps) as f64 / 1e12 * self.rps) as u64;
        for _ in 0..(due - self.asked.due.min(due)).min(PER_TURN) {
            self.asked.due += 1;
            match self.client.submit(&self.request) {
                Ok(ticket) => {
                    self.submitted_ps.resize(ticket.0 as usize + 1, 0);
                    self.submitted_ps[ticket.0 as usize] = now_ps;
                }
                Err(SubmitError::Full) => self.asked.refused += 1,
                Err(error) => return Err(error.into()),
            }
        }
        self.client.flush();
        self.take()
    }

    fn take(&mut self) -> Result<(), Failure> {
        while let Some(done) = self.client.poll() {
            let is_counted = done.ticket.0 >= self.counted_from;
            match done.result {
                Ok(_) if is_counted => {
                    self.asked.replied += 1;
                    let since = self.submitted_ps[done.ticket.0 as usize];
                    self.tails.record_reply(at(since), at(self.clock.now_ps()));
                }
                Err(CallError::Nack { .. }) => self.asked.nacked += u64::from(is_counted),
                Ok(_) | Err(CallError::Stale | CallError::TimedOut) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// The tails, once the server's gaps are known.
    pub fn settle(mut self) -> Result<Tails, Failure> {
        let server = match self.client.status() {
            Some(status) => gaps_of(status, self.clock),
            None => {
                while self.client.outstanding() > 0 {
                    self.take()?;
                }
                let said = self.ask_for_gaps()?;
                let words: Vec<u64> =
                    said.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("8"))).collect();
                let gap =
                    |pair: &[u64]| Gap { start: at(self.clock.at_ps(pair[0])), end: at(self.clock.at_ps(pair[1])) };
                GapLog::from_gaps(words.chunks_exact(2).map(gap))
            }
        };
        self.tails.settle_all(&GapLog::merged([self.pauses.log(), &server]));
        Ok(self.tails)
    }
}

impl Asker {
    /// Repeats the question: others may still overload the server.
    fn ask_for_gaps(&mut self) -> Result<Vec<u8>, Failure> {
        for _ in 0..1000 {
            match self.client.call(GAPS) {
                Ok(said) => return Ok(said.to_vec()),
                Err(CallError::Nack { .. } | CallError::TimedOut | CallError::Stale) => {
                    std::thread::sleep(std::time::Duration::from_millis(5));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err("the server does not say when it paused".into())
    }
}

fn tails(guard: Span) -> Tails {
    Tails::new(Timestamp::ZERO, guard, PENDING_MAX)
}

fn at(ps: u64) -> Timestamp {
    Timestamp::from_ps(ps)
}

fn gaps_of(status: &StatusReader, clock: Clock) -> GapLog {
    let gaps = status.gaps(0, clock);
    GapLog::from_gaps(gaps.iter().map(|gap| Gap { start: at(gap.from_ps), end: at(gap.to_ps) }))
}

/// The answer to [`GAPS`]: the server's latest gaps, in ticks, which are the same in all processes.
pub fn said_gaps(status: &StatusReader, clock: Clock) -> Vec<u8> {
    let origin = clock.ticks() - clock.ticks_of(clock.now_ps());
    let gaps = status.gaps(0, clock);
    let latest = &gaps[gaps.len().saturating_sub(SAID_GAPS_MAX)..];
    let ticks = latest.iter().flat_map(|gap| [gap.from_ps, gap.to_ps]).map(|ps| origin + clock.ticks_of(ps));
    ticks.flat_map(u64::to_le_bytes).collect()
}

/// A quantile of all RPCs' latencies, in nanoseconds; infinite (`null` in JSON) if it is a refusal
/// or there are none.
pub fn quantile_ns(recorder: &nebula_workload::LatencyRecorder, q: f64) -> f64 {
    match recorder.quantile(q) {
        Some(Latency::Finite(span)) => span.as_ps() as f64 / 1e3,
        Some(Latency::Infinite) | None => f64::INFINITY,
    }
}
