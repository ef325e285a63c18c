//! The two front ends: passengers check in, staff looks up who has.

use crate::edge::EdgeReport;
use crate::flight::{
    CheckInAsyncClient, CheckInReply, CheckInRequest, GetRequest, ItemsAsyncClient, Passengers, RecordReply,
    RecordRequest, Staff,
};
use crate::peer::Peer;
use crate::places::Places;
use crate::tier::Tier;
use crate::tiers::store::Stored;
use crate::work::Work;
use nebula_typed::{Context, Slot, Status};
use std::sync::Arc;

/// Where passengers check in.
pub(super) struct Counter {
    check_in: Peer<CheckInAsyncClient>,
    work: Work,
}

impl Counter {
    pub(super) fn new(places: &Places, work: Work) -> Self {
        Self { check_in: Peer::connect(Tier::CheckIn, places, CheckInAsyncClient::over), work }
    }

    pub(super) fn report(&self) -> Vec<EdgeReport> {
        vec![self.check_in.report()]
    }
}

impl Passengers for Arc<Counter> {
    fn check_in(&self, _: &Context, request: &CheckInRequest, reply: Slot<CheckInReply>) -> Result<(), Status> {
        self.work.wait();
        let (check_in, request) = (self.check_in.clone(), *request);
        self.work
            .answer(reply, async move { check_in.call(|client| async move { client.check_in(&request).await }).await })
    }
}

/// Where staff looks passengers up.
pub(super) struct Office {
    airport: Peer<ItemsAsyncClient>,
    work: Work,
}

impl Office {
    pub(super) fn new(places: &Places, work: Work) -> Self {
        Self { airport: Peer::connect(Tier::Airport, places, ItemsAsyncClient::over), work }
    }

    pub(super) fn report(&self) -> Vec<EdgeReport> {
        vec![self.airport.report()]
    }
}

impl Staff for Arc<Office> {
    fn record(&self, _: &Context, request: &RecordRequest, reply: Slot<RecordReply>) -> Result<(), Status> {
        self.work.wait();
        let (airport, request) = (self.airport.clone(), GetRequest { key: request.passenger });
        self.work.answer(reply, async move {
            let found = airport.call(|client| async move { client.get(&request).await }).await?;
            let Stored { flight, seat, gate } = Stored::from_value(found.value.get());
            Ok(RecordReply { flight: flight.into(), seat: seat.into(), gate: gate.into() })
        })
    }
}
