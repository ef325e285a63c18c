//! Cores that take one RPC at a time: the first that the NIC knows to be idle.

use super::first_free::FirstFree;
use super::one_queue::{Cores, Taken};
use super::terms::Terms;

#[derive(Clone, Debug)]
pub(super) struct AnyCore {
    free: FirstFree,
    terms: Terms,
}

impl AnyCore {
    pub(super) fn new(cores: u16, terms: Terms) -> Self {
        Self { free: FirstFree::new(cores), terms }
    }
}

impl Cores for AnyCore {
    #[inline(always)]
    fn take(&mut self, arrived: u64, service: u64) -> Taken {
        let Terms { dispatch, receive, notify } = self.terms;
        let dispatched = self.free.first_ps().max(arrived);
        let begun = dispatched.saturating_add(dispatch);
        let ended = begun.saturating_add(receive).saturating_add(service);
        self.free.replace(ended.saturating_add(notify));
        Taken { dispatched, begun, ended }
    }
}
