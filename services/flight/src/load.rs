//! The load: passengers and staff, who come whether or not those before them have been served.

use crate::edge::EdgeReport;
use crate::flight::{CheckInRequest, PassengersAsyncClient, RecordRequest, StaffAsyncClient};
use crate::peer::{Peer, Trouble};
use crate::places::Places;
use crate::tier::Tier;
use nebula::Span;
use nebula_nic::Timestamp;
use nebula_sys::clock::Clock;
use nebula_typed::Code;
use nebula_workload::{
    Generator, GeneratorConfig, Length, LoadReport, Mix, Op, Operation, Rate, Seed, Token, Workload,
};
use std::error::Error;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};

/// Passengers, with numbers from 0.
pub(crate) const PASSENGERS: u64 = 10_000;
/// The longest wait for an end where nothing is due.
const PAUSE: Duration = Duration::from_millis(1);

/// What is offered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    pub(crate) rate: Rate,
    pub(crate) duration: Span,
    pub(crate) warm_up: Span,
    pub(crate) seed: u64,
}

/// How an RPC ended: a reply, or why there is none.
type Ended = (Token, Result<(), Trouble>);

/// The two front ends, as the load has them: a task for each RPC.
pub(crate) struct Fronts {
    passengers: Peer<PassengersAsyncClient>,
    staff: Peer<StaffAsyncClient>,
    tasks: Runtime,
    ended: (Sender<Ended>, Receiver<Ended>),
}

impl Fronts {
    /// Connects to the front ends.
    pub(crate) fn connect(places: &Places) -> std::io::Result<Self> {
        Ok(Self {
            passengers: Peer::connect(Tier::Passengers, places, PassengersAsyncClient::over),
            staff: Peer::connect(Tier::Staff, places, StaffAsyncClient::over),
            tasks: Builder::new_multi_thread().worker_threads(1).enable_time().build()?,
            ended: channel(),
        })
    }

    /// Offers a load, and calls `every` once an interval meanwhile. Returns when each RPC has
    /// ended.
    pub(crate) fn offer(
        &self,
        offer: &Offer,
        interval: Duration,
        every: &mut dyn FnMut(Vec<EdgeReport>),
    ) -> Result<LoadReport, Box<dyn Error>> {
        let clock = Clock::new();
        let mut generator = generator(offer, now(clock))?;
        let mut told = Instant::now();
        while !generator.is_finished() {
            while let Some((token, operation)) = generator.poll_send(now(clock)) {
                self.send(token, &operation);
            }
            let left = generator.next_due().map_or(PAUSE, |due| Duration::from_nanos((due - now(clock)).as_ns()));
            if let Ok(ended) = self.ended.1.recv_timeout(left.min(PAUSE)) {
                end(ended, &mut generator, clock);
                self.ended.1.try_iter().for_each(|ended| end(ended, &mut generator, clock));
            }
            if told.elapsed() >= interval {
                told = Instant::now();
                every(self.reports());
            }
        }
        every(self.reports());
        Ok(generator.into_report())
    }

    /// What was seen of the front ends since it was asked last.
    fn reports(&self) -> Vec<EdgeReport> {
        vec![self.passengers.report(), self.staff.report()]
    }

    fn send(&self, token: Token, &Operation { op, key, .. }: &Operation) {
        let (passenger, ended) = (key.0.into(), self.ended.0.clone());
        if op == Op::Get {
            let (staff, request) = (self.staff.clone(), RecordRequest { passenger });
            self.tasks.spawn(async move {
                let found = staff.call(|staff| async move { staff.record(&request).await }).await;
                // The other end goes with the process.
                let _ = ended.send((token, found.map(drop)));
            });
        } else {
            let of = |below| u32::try_from(key.0 % below).unwrap_or(0).into();
            let request = CheckInRequest { passenger, flight: of(100), bags: of(3) };
            let front = self.passengers.clone();
            self.tasks.spawn(async move {
                let checked_in = front.call(|front| async move { front.check_in(&request).await }).await;
                let _ = ended.send((token, checked_in.map(drop)));
            });
        }
    }
}

/// The schedule of a load, in which a SET checks a passenger in and a GET looks one up.
fn generator(offer: &Offer, start: Timestamp) -> Result<Generator, Box<dyn Error>> {
    let workload = Workload {
        rate: offer.rate,
        key_count: PASSENGERS,
        mix: "get=10,set=90".parse::<Mix>()?,
        value_bytes: 0,
        length: Length::Duration(offer.warm_up + offer.duration),
        ..Workload::default()
    };
    let config = GeneratorConfig { warm_up: offer.warm_up, ..GeneratorConfig::default() };
    Ok(Generator::new(workload.schedule(Seed(offer.seed), start)?, config))
}

/// Notes what became of an RPC.
fn end((token, result): Ended, generator: &mut Generator, clock: Clock) {
    let at = now(clock);
    match result {
        Ok(()) => generator.handle_reply(at, token, true),
        // An answer like any other.
        Err(Trouble::Other(status)) if status.code() == Code::NotFound => generator.handle_reply(at, token, false),
        Err(Trouble::Refused) => generator.handle_nack(at, token),
        Err(Trouble::Other(_)) => generator.handle_lost(at, token),
    };
}

fn now(clock: Clock) -> Timestamp {
    Timestamp::from_ps(clock.now_ps())
}
