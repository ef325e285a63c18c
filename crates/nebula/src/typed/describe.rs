//! Method 0 of every service: which schema it was built from.
//!
//! ```text
//!   request   fingerprint 8 bytes │ from where 4 bytes
//!   reply     fingerprint 8 bytes │ length of the schema 4 bytes │ its bytes from there, as many as there is room for
//! ```
//!
//! To a client with the same fingerprint the schema is not sent: the length says 0.

use super::service::ServiceInfo;
use super::status::{self, Status};
use crate::rpc::reply::Reply;
use nebula_schema::Fingerprint;
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The number of the method.
pub(crate) const METHOD: u16 = 0;

/// What the client asks.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Ask {
    pub(crate) fingerprint: U64,
    pub(crate) from: U32,
}

/// What stands before the bytes of the schema.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Told {
    pub(crate) fingerprint: U64,
    pub(crate) schema_bytes: U32,
}

/// Answers a request.
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
