//! `mix:get=0.995*exp:1us;scan=0.005*fixed:500us`: request types with their shares.

use std::fmt;

use nebula_nic::Span;

use super::{ServiceTime, TypeId};
use crate::alias::Alias;
use crate::error::WorkloadError;
use crate::rng::Rng;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct RequestMix {
    types: Box<[RequestType]>,
    alias: Alias,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct RequestType {
    pub(super) name: Box<str>,
    pub(super) share: f64,
    /// Not a mix.
    pub(super) service: ServiceTime,
}

const TYPES_MAX: usize = 1 << u8::BITS;

impl RequestMix {
    pub(super) fn new(types: Vec<RequestType>) -> Result<Self, WorkloadError> {
        if types.len() > TYPES_MAX {
            return Err(WorkloadError::out_of_range("number of request types", types.len() as f64, "use at most 256"));
        }
        let shares: Vec<f64> = types.iter().map(|kind| kind.share).collect();
        Ok(Self { types: types.into(), alias: Alias::new(&shares)? })
    }

    pub(super) fn types(&self) -> std::slice::Iter<'_, RequestType> {
        self.types.iter()
    }

    #[expect(clippy::cast_possible_truncation, reason = "there are at most 256 types")]
    pub(super) fn sample(&self, rng: &mut Rng) -> (TypeId, Span) {
        let index = self.alias.draw(rng);
        (TypeId(index as u8), self.types[index].service.sample(rng))
    }
}

impl fmt::Display for RequestMix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, RequestType { name, share, service }) in self.types().enumerate() {
            let before = if index == 0 { "mix:" } else { ";" };
            write!(f, "{before}{name}={share}*{service}")?;
        }
        Ok(())
    }
}
