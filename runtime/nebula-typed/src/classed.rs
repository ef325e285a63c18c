//! A typed service whose server decides where the handlers of some methods run.

use super::method::{self, MethodId};
use nebula::Reply;
use nebula::Requests;
use nebula::{Class, Description, Service, Stage};

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

    fn describe(&self) -> Description {
        let description = self.service.describe();
        if self.classes.iter().all(|&(_, class)| class != Class::Worker) && description.classes.is_none() {
            return description;
        }
        let (set, declared) = (self.classes.clone(), description.clone());
        description.classes(move |request| {
            let set = method::id_of(request).and_then(|id| set.iter().find(|&&(method, _)| method == id));
            set.map_or_else(|| declared.class(request), |&(_, class)| class)
        })
    }

    #[inline(always)]
    fn prefetch(&self, request: &[u8], stage: Stage) {
        self.service.prefetch(request, stage);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nebula::{RpcType, StoreCounters};

    struct Shop;

    impl Service for Shop {
        fn serve(&self, _: &[u8], _: &mut Reply<'_>) {}

        fn describe(&self) -> Description {
            let description = Description::default().later_max(7).types(3, |_| RpcType(2)).prefetches(true);
            description.store(|| StoreCounters { items: 7, ..StoreCounters::default() }).on_drain(|| ())
        }
    }

    #[test]
    fn what_a_service_says_of_itself_is_said_with_other_classes_too() {
        let set = MethodId::new(1, 1);
        let description = Classed::new(Shop).with_class(set, Class::Worker).describe();
        assert_eq!((description.later_max, description.prefetches), (Some(7), true));
        assert_eq!(description.types.as_ref().map(|types| (types.types(), types.type_of(&[]))), Some((3, RpcType(2))));
        assert_eq!(description.store.as_ref().map(|store| store().items), Some(7));
        assert!(description.on_drain.is_some());
        let [class, other] = [set, MethodId::new(1, 2)].map(|method| description.class(&method.to_bytes()));
        assert_eq!((class, other), (Class::Worker, Class::Dispatch));
    }

    #[test]
    fn without_a_method_for_the_pool_no_request_is_asked_for_its_class() {
        let classed = Classed::new(Shop).with_class(MethodId::new(1, 1), Class::Dispatch);
        assert!(classed.describe().classes.is_none());
    }
}
