//! The service `Reflection`.

use super::reflection::{DescribeRequest, ListRequest, Reflection, ReflectionClient, SchemaPart, ServiceName};
use crate::schema::Schema;
use crate::{CallError, Context, ServiceInfo, Status, Window};

/// Bytes of a schema in one reply: short enough for every client.
const PART_BYTES: usize = 128;
/// The longest schema that a client accepts from a server, in bytes.
const SCHEMA_BYTES_MAX: usize = 1 << 20;

/// The services of a server, for its answers.
#[derive(Clone, Debug)]
pub struct ReflectionOf(Box<[ServiceInfo]>);

impl ReflectionOf {
    /// The server has `services`: generated constants such as [`HEALTH`](super::HEALTH).
    #[must_use]
    pub fn new(services: impl IntoIterator<Item = ServiceInfo>) -> Self {
        Self(services.into_iter().collect())
    }
}

/// Fills `window` with items of `all`, from where the previous one ended.
fn fill<T: crate::Message>(all: impl Iterator<Item = T>, window: &mut Window<'_, '_, T>) {
    let from = window.index();
    for (at, one) in (0..).zip(all).skip_while(|&(at, _)| at < from) {
        if !window.push(&one) {
            return window.resume_at_index(at);
        }
    }
}

impl Reflection for ReflectionOf {
    fn list(&self, _: &Context, _: &ListRequest, window: &mut Window<ServiceName>) -> Result<(), Status> {
        let name = |info: &ServiceInfo| ServiceName {
            name: info.name.into(),
            id: info.id.into(),
            fingerprint: info.fingerprint.0,
        };
        fill(self.0.iter().map(name), window);
        Ok(())
    }

    fn describe(&self, _: &Context, request: &DescribeRequest, window: &mut Window<SchemaPart>) -> Result<(), Status> {
        let info = self.0.iter().find(|info| info.name == request.service);
        let info = info.ok_or(Status::not_found("the server does not have this service"))?;
        fill(info.schema.chunks(PART_BYTES).map(|part| SchemaPart { bytes: part.into() }), window);
        Ok(())
    }
}

/// The schema of a server's service: the service, and all messages and enums that it uses.
///
/// # Errors
///
/// [`CallError`]; with [`Code::NotFound`](crate::Code::NotFound) for an unknown service.
pub fn describe(client: &mut ReflectionClient, service: &str) -> Result<Schema, CallError> {
    let mut bytes = Vec::new();
    for part in client.describe(&DescribeRequest { service: service.into() }) {
        bytes.extend_from_slice(&part?.bytes);
        if bytes.len() > SCHEMA_BYTES_MAX {
            return Err(CallError::Malformed);
        }
    }
    Schema::from_bytes(&bytes).map_err(|_| CallError::Malformed)
}
