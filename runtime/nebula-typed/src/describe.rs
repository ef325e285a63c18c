//! Method 0 of every service: the schema that it was built from.
//!
//! ```text
//!   request   fingerprint 8 bytes │ from where 4 bytes
//!   reply     fingerprint 8 bytes │ length of the schema 4 bytes │ its bytes from there, as many as there is room for
//! ```
//!
//! A client with the same fingerprint does not get the schema: the length is 0. A schema is an
//! encoded `nebula.Schema`; its fingerprint is its SipHash-2-4 under the key 0. A server without
//! the service answers with code 12 (`UNIMPLEMENTED`).

use super::error::{CallError, ConnectError};
use super::method::MethodId;
use super::service::ServiceInfo;
use super::status::{self, Code, Status};
use nebula as client;
use nebula::Reply;
use nebula::hooks::{AskOne, Greeting};
use nebula_build::schema::{Fingerprint, Schema, fit};
use std::sync::{Arc, Mutex, PoisonError};
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The longest schema that a client accepts from a server, in bytes.
const SCHEMA_BYTES_MAX: usize = 1 << 20;

pub(crate) const METHOD: u16 = 0;

#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Ask {
    pub(crate) fingerprint: U64,
    pub(crate) from: U32,
}

#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Told {
    pub(crate) fingerprint: U64,
    pub(crate) schema_bytes: U32,
}

#[cold]
pub(crate) fn answer(service: &ServiceInfo, body: &[u8], reply: &mut Reply<'_>) {
    let Ok(Ask { fingerprint, from }) = Ask::read_from_bytes(body) else {
        return Status::invalid_argument("the schema is asked for with a fingerprint and a place").reply(reply);
    };
    let is_known = Fingerprint(fingerprint.get()) == service.fingerprint;
    let schema = if is_known { &[] } else { service.schema };
    let told = Told {
        fingerprint: service.fingerprint.0.into(),
        schema_bytes: u32::try_from(schema.len()).unwrap_or(u32::MAX).into(),
    };
    let beside = status::END_BYTES + size_of::<Told>();
    let rest = schema.get(from.get() as usize..).unwrap_or_default();
    let room = reply.capacity().saturating_sub(beside);
    reply.write_and(&[told.as_bytes(), &rest[..rest.len().min(room)]].concat(), status::OK);
}

struct Description {
    fingerprint: Fingerprint,
    /// Empty if the fingerprints are the same.
    schema: Vec<u8>,
}

/// Checks whether the server that `call` reaches has `service`, in a version that fits.
pub(crate) fn check(
    service: &ServiceInfo,
    call: impl FnMut(&[u8]) -> Result<Vec<u8>, CallError>,
) -> Result<(), ConnectError> {
    let Description { fingerprint, schema } = description(service, call).map_err(|cause| match cause.status() {
        Some(status) if status.code() == Code::Unimplemented => ConnectError::NotServed { service: service.name },
        _ => ConnectError::Asked { service: service.name, cause },
    })?;
    if fingerprint == service.fingerprint {
        return Ok(());
    }
    let asked = |cause| ConnectError::Asked { service: service.name, cause };
    let theirs = Schema::from_bytes(&schema).map_err(|_| asked(CallError::Malformed))?;
    fit(&service.schema(), &theirs).map_err(|misfit| ConnectError::Schema {
        service: service.name,
        client: service.fingerprint,
        server: fingerprint,
        misfit,
    })
}

/// Why the last greeting failed.
pub(super) type Misfit = Arc<Mutex<Option<ConnectError>>>;

/// The question of [`check`] for each new connection, and why the last connection failed it.
pub(super) fn greeting(service: &ServiceInfo) -> (Arc<Greeting>, Misfit) {
    let (service, misfit) = (*service, Misfit::default());
    let said = misfit.clone();
    let greeting = move |call: &mut AskOne<'_>| {
        let error = check(&service, |request| Ok(call(request)?)).err();
        let fits = error.is_none();
        *said.lock().unwrap_or_else(PoisonError::into_inner) = error;
        fits
    };
    (Arc::new(greeting), misfit)
}

pub(super) fn misfit(service: &ServiceInfo, misfit: &Misfit, outstanding: u32) -> ConnectError {
    let said = misfit.lock().unwrap_or_else(PoisonError::into_inner).take();
    let cause = || CallError::Rpc(client::CallError::Outstanding { rpcs: outstanding });
    said.unwrap_or_else(|| ConnectError::Asked { service: service.name, cause: cause() })
}

fn description(
    service: &ServiceInfo,
    mut call: impl FnMut(&[u8]) -> Result<Vec<u8>, CallError>,
) -> Result<Description, CallError> {
    let (mut schema, id) = (Vec::new(), MethodId::new(service.id, METHOD));
    loop {
        let from = u32::try_from(schema.len()).map_err(|_| CallError::Malformed)?;
        let ask = Ask { fingerprint: service.fingerprint.0.into(), from: from.into() };
        let reply = call(&[ask.as_bytes(), &id.to_bytes()].concat())?;
        let body = status::open_message(&reply).ok_or_else(|| CallError::of_reply(&reply))?;
        let (told, part) = Told::read_from_prefix(body).map_err(|_| CallError::Malformed)?;
        schema.extend_from_slice(part);
        let bytes = told.schema_bytes.get() as usize;
        if schema.len() == bytes {
            return Ok(Description { fingerprint: Fingerprint(told.fingerprint.get()), schema });
        }
        if part.is_empty() || schema.len() > bytes || bytes > SCHEMA_BYTES_MAX {
            return Err(CallError::Malformed);
        }
    }
}
