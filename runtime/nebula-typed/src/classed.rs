//! A typed service whose server decides where the handlers of some methods run.

use super::method::{self, MethodId};
use nebula::Reply;
use nebula::Requests;
use nebula::{Class, Service, Stage, StoreCounters};
use nebula_nic::schedule::RpcType;

/// A typed service, or several ([`Services`](super::Services)), with another [`Class`] for some
/// methods than their `.proto` declares.
///
/// # Examples
///
/// ```ignore
/// let shop = ShopServer(Stock::default()).with_class(ShopMethod::Search, Class::Worker);
/// let server = Server::bind("shm://shop").serve(shop)?;
/// ```
///
/// # Cost
///
/// If some are of [`Class::Worker`], each RPC is compared with each method that was set.
#[derive(Clone, Debug)]
pub struct Classed<S> {
    service: S,
    classes: Vec<(MethodId, Class)>,
}

impl<S: Service> Classed<S> {
    /// A service whose methods have the classes of its `.proto`.
    #[must_use]
    pub fn new(service: S) -> Self {
        Self { service, classes: Vec::new() }
    }

    /// Sets where the handler of a method runs. If a method is set twice, the last class counts.
    #[must_use]
    pub fn with_class(mut self, method: impl Into<MethodId>, class: Class) -> Self {
        let method = method.into();
        self.classes.retain(|&(one, _)| one != method);
        self.classes.push((method, class));
        self
    }
}

impl<S: Service> Service for Classed<S> {
    #[inline(always)]
    fn serve(&self, request: &[u8], reply: &mut Reply<'_>) {
        self.service.serve(request, reply);
    }

    #[inline(always)]
    fn serve_burst(&self, requests: &mut Requests<'_>) {
        self.service.serve_burst(requests);
    }

    fn reply_bytes_max(&self) -> Option<u32> {
        self.service.reply_bytes_max()
    }

    fn later_max(&self) -> Option<u16> {
        self.service.later_max()
    }

    fn has_long(&self) -> bool {
        self.service.has_long() || self.classes.iter().any(|&(_, class)| class == Class::Worker)
    }

    fn class(&self, request: &[u8]) -> Class {
        let set = method::id_of(request).and_then(|id| self.classes.iter().find(|&&(method, _)| method == id));
        set.map_or_else(|| self.service.class(request), |&(_, class)| class)
    }

    fn types(&self) -> u8 {
        self.service.types()
    }

    fn rpc_type(&self, request: &[u8]) -> RpcType {
        self.service.rpc_type(request)
    }

    fn store(&self) -> Option<StoreCounters> {
        self.service.store()
    }

    fn drain(&self) {
        self.service.drain();
    }

    fn prefetches(&self) -> bool {
        self.service.prefetches()
    }

    fn prefetch(&self, request: &[u8], stage: Stage) {
        self.service.prefetch(request, stage);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Shop;

    impl Service for Shop {
        fn serve(&self, _: &[u8], _: &mut Reply<'_>) {}

        fn later_max(&self) -> Option<u16> {
            Some(7)
        }

        fn types(&self) -> u8 {
            3
        }

        fn store(&self) -> Option<StoreCounters> {
            Some(StoreCounters { items: 7, ..StoreCounters::default() })
        }

        fn prefetches(&self) -> bool {
            true
        }
    }

    #[test]
    fn what_a_service_says_of_itself_is_said_with_other_classes_too() {
        let classed = Classed::new(Shop).with_class(MethodId::new(1, 1), Class::Worker);
        assert_eq!(classed.store(), Shop.store());
        assert_eq!((classed.later_max(), classed.types(), classed.prefetches()), (Some(7), 3, true));
        assert!(classed.has_long());
    }
}
