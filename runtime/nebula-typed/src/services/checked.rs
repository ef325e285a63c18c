//! The service `Health`.

use super::health::{CheckReply, CheckRequest, HEALTH, Health, HealthClient, State};
use crate::{CallError, Context, MethodId, Slot, Status, read_reply, request_bytes};
use nebula::{HealthCheck, Span};
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

const CHECK: u16 = 1;

/// The states of a server's services. Clones share them: keep one to change a state. The server as
/// a whole, under the empty name, is [`State::Serving`] until it is [`set`](Self::set) otherwise.
#[derive(Clone, Debug)]
pub struct HealthOf(Arc<RwLock<BTreeMap<String, State>>>);

impl Default for HealthOf {
    fn default() -> Self {
        Self(Arc::new(RwLock::new(BTreeMap::from([(String::new(), State::Serving)]))))
    }
}

impl HealthOf {
    /// Sets the state of `service`; the empty name means the server as a whole.
    ///
    /// # Cost
    ///
    /// A lock.
    pub fn set(&self, service: &str, state: State) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(service.into(), state);
    }

    /// The state of `service`; `None` if it was never set.
    #[must_use]
    pub fn get(&self, service: &str) -> Option<State> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(service).copied()
    }
}

impl Health for HealthOf {
    fn check(&self, _: &Context, request: &CheckRequest, reply: Slot<CheckReply>) -> Result<(), Status> {
        match self.get(&request.service) {
            Some(state) => reply.write(&CheckReply { state: (state as i32).into() }),
            None => Err(Status::not_found("the server does not speak of this service")),
        }
    }
}

/// For a client of several servers ([`ClientConfig::health`](nebula::ClientConfig::health)): asks
/// each server, at this interval, whether `service` can be used; the empty name means the server as
/// a whole. A server that does not confirm it gets no RPCs.
#[must_use]
pub fn health_check(service: &str, every: impl Into<Span>) -> HealthCheck {
    let request = request_bytes(MethodId::new(HEALTH.id, CHECK), &CheckRequest { service: service.into() });
    let is_well = |reply: &[u8]| {
        read_reply::<CheckReply>(reply).is_ok_and(|reply| reply.state().is_some_and(|state| state == State::Serving))
    };
    HealthCheck::new(every, &request, is_well)
}

/// Asks whether `service` can be used now; the empty name means the server as a whole.
///
/// # Errors
///
/// [`CallError`]; with [`Code::NotFound`](crate::Code::NotFound) for a service without state.
pub fn check(client: &mut HealthClient, service: &str) -> Result<State, CallError> {
    let reply = client.check(&CheckRequest { service: service.into() })?;
    // A state of a later version is one that this client cannot rely on.
    Ok(reply.state().unwrap_or(State::NotServing))
}
