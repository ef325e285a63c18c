//! The two stores: `nebula-kvs` behind a schema.

use crate::flight::{GetReply, GetRequest, Items as ItemsService, SetReply, SetRequest};
use crate::load::PASSENGERS;
use crate::work::Work;
use nebula_kvs::{Store, StoreConfig, StoreError};
use nebula_typed::{Context, Slot, Status};

/// A store of numbers.
pub(super) struct Items {
    store: Store,
    work: Work,
}

impl Items {
    /// That of citizens: everyone, and how many days the passport is valid.
    pub(super) fn citizens(work: Work) -> Result<Self, StoreError> {
        let items = Self::empty(work)?;
        for passenger in 0..PASSENGERS {
            let (key, days_left) = (passenger.to_le_bytes(), 1 + passenger % 3650);
            // It is sized for all of them.
            let _ = items.store.set(Store::hash(&key), &key, &days_left.to_le_bytes());
        }
        Ok(items)
    }

    /// With nobody in it.
    pub(super) fn empty(work: Work) -> Result<Self, StoreError> {
        Ok(Self { store: Store::try_new(StoreConfig::for_items(PASSENGERS, 8, 8))?, work })
    }
}

impl ItemsService for Items {
    fn get(&self, _: &Context, request: &GetRequest, reply: Slot<GetReply>) -> Result<(), Status> {
        self.work.wait();
        let (key, mut value) = (request.key.get().to_le_bytes(), Vec::with_capacity(8));
        if !self.store.get(Store::hash(&key), &key, &mut value) {
            return Err(Status::not_found("no such passenger"));
        }
        let value = value.try_into().map_err(|_| Status::data_loss("not a number"))?;
        reply.write(&GetReply { value: u64::from_le_bytes(value).into() })
    }

    fn set(&self, _: &Context, SetRequest { key, value }: &SetRequest, reply: Slot<SetReply>) -> Result<(), Status> {
        self.work.wait();
        let (key, value) = (key.get().to_le_bytes(), value.get().to_le_bytes());
        let stored = self.store.set(Store::hash(&key), &key, &value);
        stored.map_err(|cause| Status::internal(cause.to_string()))?;
        reply.write(&SetReply {})
    }
}

/// What the airport's store has of a passenger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stored {
    /// Below 2^32, 2^16 and 2^16.
    pub(super) flight: u32,
    pub(super) seat: u32,
    pub(super) gate: u32,
}

impl Stored {
    pub(super) fn to_value(self) -> u64 {
        u64::from(self.flight) << 32 | u64::from(self.seat & 0xFFFF) << 16 | u64::from(self.gate & 0xFFFF)
    }

    pub(super) fn from_value(value: u64) -> Self {
        let part = |shift: u32, mask: u64| u32::try_from(value >> shift & mask).unwrap_or(0);
        Self { flight: part(32, u32::MAX.into()), seat: part(16, 0xFFFF), gate: part(0, 0xFFFF) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_read() {
        let stored = Stored { flight: 9_999, seat: 179, gate: 59 };
        assert_eq!(Stored::from_value(stored.to_value()), stored);
    }
}
