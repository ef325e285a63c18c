//! What is measured: a service that answers with the message it got, and the same written by hand.

use crate::echo::{Echo, LineMessage, NumbersMessage, ProtoMessage};
use nebula::Reply;
use nebula_typed::{Context, Slot, Status};

/// Bytes of a request that is written by hand: as many as the line message has with its head. With
/// the slot's header they fill a line.
pub const BYTES: usize = 48;
/// The number by which the handler of bytes knows its only method.
pub const METHOD: [u8; 4] = [1, 0, 0, 0];

/// Answers with the message it got.
#[derive(Clone, Copy, Debug)]
pub struct Same;

impl Echo for Same {
    #[inline(always)]
    fn line(&self, _: &Context<'_>, request: &LineMessage, reply: Slot<'_, '_, LineMessage>) -> Result<(), Status> {
        reply.write(request)
    }

    #[inline(always)]
    fn numbers(
        &self,
        _: &Context<'_>,
        request: &NumbersMessage,
        reply: Slot<'_, '_, NumbersMessage>,
    ) -> Result<(), Status> {
        reply.write(request)
    }

    #[inline(always)]
    fn proto(&self, _: &Context<'_>, request: &ProtoMessage, reply: Slot<'_, '_, ProtoMessage>) -> Result<(), Status> {
        reply.write(request)
    }
}

/// The handler that is written by hand: it looks which method is meant, and how long the request
/// is, as a server must.
#[inline(always)]
pub fn by_hand(request: &[u8], reply: &mut Reply<'_>) {
    match request.split_first_chunk() {
        Some((&METHOD, body)) if body.len() == BYTES - METHOD.len() => reply.write(request),
        _ => reply.write(b"no such method"),
    }
}
