//! Check-in: asks flights, baggage and passports at once, then writes to the airport's store.

use crate::edge::EdgeReport;
use crate::flight::{
    BaggageAsyncClient, BagsRequest, CheckIn, CheckInReply, CheckInRequest, FindRequest, FlightsAsyncClient,
    ItemsAsyncClient, PassportRequest, PassportsAsyncClient, SetRequest,
};
use crate::peer::{Peer, Trouble};
use crate::places::Places;
use crate::tier::Tier;
use crate::tiers::store::Stored;
use crate::work::{Work, all_of};
use nebula_typed::{Context, Slot, Status};

/// The tiers that check-in calls.
#[derive(Clone)]
pub(super) struct Desk {
    flights: Peer<FlightsAsyncClient>,
    baggage: Peer<BaggageAsyncClient>,
    passports: Peer<PassportsAsyncClient>,
    airport: Peer<ItemsAsyncClient>,
    work: Work,
}

impl Desk {
    pub(super) fn new(places: &Places, work: Work) -> Self {
        Self {
            flights: Peer::connect(Tier::Flights, places, FlightsAsyncClient::over),
            baggage: Peer::connect(Tier::Baggage, places, BaggageAsyncClient::over),
            passports: Peer::connect(Tier::Passports, places, PassportsAsyncClient::over),
            airport: Peer::connect(Tier::Airport, places, ItemsAsyncClient::over),
            work,
        }
    }

    pub(super) fn report(&self) -> Vec<EdgeReport> {
        vec![self.flights.report(), self.baggage.report(), self.passports.report(), self.airport.report()]
    }

    /// Nothing is changed before the airport's store is: whichever tier refuses, nothing was done.
    async fn check_in(
        self,
        CheckInRequest { passenger, flight, bags }: CheckInRequest,
    ) -> Result<CheckInReply, Trouble> {
        let find = FindRequest { flight };
        let check_bags = BagsRequest { passenger, bags };
        let check_passport = PassportRequest { passenger };
        let (found, bags, passport) = all_of(
            self.flights.call(|flights| async move { flights.find(&find).await }),
            self.baggage.call(|baggage| async move { baggage.check(&check_bags).await }),
            self.passports.call(|passports| async move { passports.check(&check_passport).await }),
        )
        .await?;
        if passport.days_left.get() == 0 {
            return Err(Trouble::Other(Status::failed_precondition("the passport is not valid any more")));
        }
        let seats = u64::from(found.seats.get().max(1));
        let seat = u32::try_from(passenger.get() % seats).unwrap_or(0);
        let stored = Stored { flight: flight.get(), seat, gate: found.gate.get() };
        let set = SetRequest { key: passenger, value: stored.to_value().into() };
        self.airport.call(|airport| async move { airport.set(&set).await }).await?;
        Ok(CheckInReply { seat: seat.into(), gate: found.gate, tag: bags.tag })
    }
}

impl CheckIn for Desk {
    fn check_in(&self, _: &Context, request: &CheckInRequest, reply: Slot<CheckInReply>) -> Result<(), Status> {
        self.work.wait();
        self.work.answer(reply, self.clone().check_in(*request))
    }
}
