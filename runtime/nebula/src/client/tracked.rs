//! The RPCs over shared memory that have a deadline, or may be sent again.

use crate::client::error::SubmitError;
use crate::config::client::Options;
use nebula_nic::{Timestamp, TransferId};
use nebula_requester::{Call, Requester, RequesterConfig, RequesterConfigError};
use std::ops::{Deref, DerefMut};

/// Slots of a requester that is not used.
const FEW: u32 = 2;

/// A requester whose table is made for the first RPC: it takes a hundred bytes a slot, and most
/// clients have no such RPC.
#[derive(Debug)]
pub(super) struct Tracked {
    requester: Requester,
    /// How it is to be, unless it is so already.
    wanted: Option<RequesterConfig>,
}

impl Tracked {
    /// At once if every RPC `is_timed`.
    pub(super) fn try_new(config: RequesterConfig, is_timed: bool) -> Result<Self, RequesterConfigError> {
        config.validate()?;
        let wanted = (!is_timed).then_some(config);
        let now = if is_timed { config } else { RequesterConfig { outstanding: FEW, ..config } };
        Ok(Self { requester: Requester::try_new(now)?, wanted })
    }

    /// Gives it an RPC. Returns the RPC's number there.
    pub(super) fn begin(&mut self, now: Timestamp, options: Options, call: Call) -> Result<TransferId, SubmitError> {
        if let Some(wanted) = self.wanted.take() {
            // It was found to be possible at the start.
            self.requester = Requester::try_new(wanted).map_err(|_| SubmitError::Full)?;
        }
        let begun = match options.deadline {
            Some(deadline) => self.requester.begin_within(now, deadline, call),
            None => self.requester.begin_call(now, call),
        };
        begun.map(|packets| packets.tid()).map_err(|_| SubmitError::Full)
    }
}

impl Deref for Tracked {
    type Target = Requester;

    #[inline(always)]
    fn deref(&self) -> &Requester {
        &self.requester
    }
}

impl DerefMut for Tracked {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Requester {
        &mut self.requester
    }
}
