//! Flights, baggage, passports: what check-in has to know.

use crate::edge::EdgeReport;
use crate::flight::{
    Baggage, BagsReply, BagsRequest, FindReply, FindRequest, Flights as FlightsService, GetRequest, ItemsAsyncClient,
    PassportReply, PassportRequest, Passports as PassportsService,
};
use crate::peer::Peer;
use crate::places::Places;
use crate::tier::Tier;
use crate::work::Work;
use nebula_typed::{Context, Slot, Status};
use std::sync::Arc;

/// Flights have numbers below this.
const FLIGHTS: u32 = 10_000;
const GATES: u32 = 60;
const SEATS: u32 = 180;
/// Bags of one passenger.
const BAGS_MAX: u32 = 3;

/// Waits for its database, in the pool where there is one.
pub(super) struct Flights(pub(super) Work);

impl FlightsService for Flights {
    fn find(&self, _: &Context, request: &FindRequest, reply: Slot<FindReply>) -> Result<(), Status> {
        self.0.wait();
        match request.flight.get() {
            flight @ ..FLIGHTS => reply.write(&FindReply { gate: (flight % GATES).into(), seats: SEATS.into() }),
            flight => Err(Status::invalid_argument(format!("there is no flight {flight}"))),
        }
    }
}

/// Which luggage is allowed.
pub(super) struct Luggage(pub(super) Work);

impl Baggage for Luggage {
    fn check(&self, _: &Context, request: &BagsRequest, reply: Slot<BagsReply>) -> Result<(), Status> {
        self.0.wait();
        let bags = request.bags.get();
        if bags > BAGS_MAX {
            return Err(Status::failed_precondition(format!("{bags} bags, and {BAGS_MAX} are allowed")));
        }
        let tag = u32::try_from(request.passenger.get() % 1_000_000).unwrap_or(0);
        reply.write(&BagsReply { tag: tag.into() })
    }
}

/// Whose passport is valid, by the store of citizens.
pub(super) struct Passports {
    citizens: Peer<ItemsAsyncClient>,
    work: Work,
}

impl Passports {
    pub(super) fn new(places: &Places, work: Work) -> Self {
        Self { citizens: Peer::connect(Tier::Citizens, places, ItemsAsyncClient::over), work }
    }

    pub(super) fn report(&self) -> Vec<EdgeReport> {
        vec![self.citizens.report()]
    }
}

impl PassportsService for Arc<Passports> {
    fn check(&self, _: &Context, request: &PassportRequest, reply: Slot<PassportReply>) -> Result<(), Status> {
        self.work.wait();
        let (citizens, request) = (self.citizens.clone(), GetRequest { key: request.passenger });
        self.work.answer(reply, async move {
            let found = citizens.call(|citizens| async move { citizens.get(&request).await }).await?;
            Ok(PassportReply { days_left: u32::try_from(found.value.get()).unwrap_or(u32::MAX).into() })
        })
    }
}
