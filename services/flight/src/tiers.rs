//! What each tier does.

mod check_in;
mod front;
mod knows;
mod store;

use crate::edge::EdgeReport;
use crate::flight::{
    BaggageServer, CheckInServer, FlightsServer, ItemsServer, PassengersServer, PassportsServer, StaffServer,
};
use crate::places::Places;
use crate::tier::Tier;
use crate::work::Work;
use check_in::Desk;
use front::{Counter, Office};
use knows::{Flights, Luggage, Passports};
use nebula::{RunningServer, Server};
use std::error::Error;
use std::sync::Arc;
use store::Items;

/// A tier that serves.
pub(crate) struct Serving {
    pub(crate) server: RunningServer,
    /// What it has seen of the tiers that it calls, each time since it was asked last.
    pub(crate) edges: Box<dyn Fn() -> Vec<EdgeReport>>,
}

/// Starts a tier; the others are at `places`.
pub(crate) fn serve(tier: Tier, places: &Places, server: Server, work: Work) -> Result<Serving, Box<dyn Error>> {
    let calls_none = || Box::new(Vec::new) as Box<dyn Fn() -> Vec<EdgeReport>>;
    let (server, edges) = match tier {
        Tier::Passengers => {
            let counter = Arc::new(Counter::new(places, work));
            (server.serve(PassengersServer(counter.clone()))?, Box::new(move || counter.report()) as Box<_>)
        }
        Tier::Staff => {
            let office = Arc::new(Office::new(places, work));
            (server.serve(StaffServer(office.clone()))?, Box::new(move || office.report()) as Box<_>)
        }
        Tier::CheckIn => {
            let desk = Desk::new(places, work);
            (server.serve(CheckInServer(desk.clone()))?, Box::new(move || desk.report()) as Box<_>)
        }
        Tier::Passports => {
            let passports = Arc::new(Passports::new(places, work));
            (server.serve(PassportsServer(passports.clone()))?, Box::new(move || passports.report()) as Box<_>)
        }
        Tier::Flights => (server.serve(FlightsServer(Flights(work)))?, calls_none()),
        Tier::Baggage => (server.serve(BaggageServer(Luggage(work)))?, calls_none()),
        Tier::Citizens => (server.serve(ItemsServer(Items::citizens(work)?))?, calls_none()),
        Tier::Airport => (server.serve(ItemsServer(Items::empty(work)?))?, calls_none()),
    };
    Ok(Serving { server, edges })
}
