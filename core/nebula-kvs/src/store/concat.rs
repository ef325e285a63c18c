//! Additions to a value's front or back.

use super::Store;
use super::put::{Put, PutOutcome};
use super::set::SetError;
use crate::hash::KeyHash;
use crate::probe::Probe;
use nebula_sys::copy;
use std::cell::RefCell;

/// Where bytes are added to a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Before it: `prepend`.
    Front,
    /// Behind it: `append`.
    Back,
}

thread_local! {
    /// The joined value; kept, so that an addition allocates only if it is longer than any before.
    static VALUE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl<P: Probe> Store<P> {
    /// Adds `bytes` to an end of `key`'s value, and keeps flags and expiry; with `cas`, only if the
    /// item has that CAS number. Cost: copies the value once more than [`put`](Self::put) does.
    ///
    /// # Errors
    ///
    /// [`SetError`]; the store is then unchanged.
    pub fn concat(
        &self,
        hash: KeyHash,
        key: &[u8],
        bytes: &[u8],
        end: End,
        cas: Option<u64>,
        now: u32,
    ) -> Result<PutOutcome, SetError> {
        self.note_time(now);
        let mut held = self.hold(hash);
        let Some(located) = self.locate_live(&held, hash, key, now) else {
            return Ok(if cas.is_some() { PutOutcome::NotFound } else { PutOutcome::NotStored });
        };
        let before = located.stamped.meta;
        if cas.is_some_and(|cas| cas != before.cas) {
            return Ok(PutOutcome::Exists);
        }
        let stored = VALUE.with_borrow_mut(|whole| {
            let (value, value_bytes) = located.value();
            let begin = if end == End::Front { bytes.len() } else { 0 };
            whole.clear();
            whole.resize(bytes.len() + value_bytes, 0);
            copy::load_bytes(value, &mut whole[begin..begin + value_bytes]);
            let added = if end == End::Front { 0 } else { value_bytes };
            whole[added..added + bytes.len()].copy_from_slice(bytes);
            let granules = self.check_extended(key, whole)?;
            let stamped = self.stamp(&Put { flags: before.flags, expires: before.expires, now, ..Put::default() });
            let outcome = self.store_extended(&mut held, Some(located), hash, key, whole, &stamped)?;
            Ok((outcome, granules, stamped.meta.cas))
        });
        let (outcome, granules, cas) = stored?;
        drop(held);
        self.carry_after(outcome, granules);
        Ok(PutOutcome::Stored { cas })
    }
}
