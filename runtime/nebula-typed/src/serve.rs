//! From a request's bytes to a method of a service, and back.

use super::context::Context;
use super::describe;
use super::message::{Encoding, Message};
use super::method::{self, MethodId, Opened};
use super::service::ServiceInfo;
use super::slot::Slot;
use super::status::Status;
use super::window::Window;
use nebula::Reply;
use nebula::{Class, Description, Service};
use nebula_nic::Span;
use nebula_nic::schedule::{RpcType, TYPES_MAX};

/// The methods of a typed service. Generated code implements it for the server of each service.
pub trait Methods {
    /// The service.
    const SERVICE: ServiceInfo;

    /// Whether any of its methods is of [`Class::Worker`].
    const HAS_LONG: bool = false;

    /// The numbers of its methods: each is a type of RPCs for the policy `darc`.
    const METHODS: &'static [u16] = &[];

    /// Where the handler of a method runs.
    #[must_use]
    fn class(method: u16) -> Class {
        let _ = method;
        Class::Dispatch
    }

    /// Answers the RPC by the method in `context`; `body` is the request's message.
    fn call(&self, context: &Context<'_>, body: &[u8], reply: &mut Reply<'_>);
}

/// Answers one RPC of a server with one service.
#[inline(always)]
pub fn serve<M: Methods>(methods: &M, request: &[u8], reply: &mut Reply<'_>) {
    match method::open_plain(request) {
        Some((id, body)) if id.service() == M::SERVICE.id && reply.has_no_caller() => {
            methods.call(&Context::new(id, &[], None).asked_in(reply.asked()), body, reply);
        }
        _ => serve_otherwise(methods, request, reply),
    }
}

/// The description of this service, for a server that has no other.
pub fn description<M: Methods>() -> Description {
    let types = types(&[M::METHODS.len()]);
    let mut description = Description::default().types(types, |request| rpc_type::<M>(request));
    description.reply_bytes_max = M::SERVICE.reply_bytes_max;
    if M::HAS_LONG { description.classes(|request| class::<M>(request)) } else { description }
}

fn class<M: Methods>(request: &[u8]) -> Class {
    match method::id_of(request) {
        Some(id) if id.service() == M::SERVICE.id => M::class(id.method()),
        _ => Class::Dispatch,
    }
}

/// The number of RPC types of services with these numbers of `methods`: one for each method, and
/// the common one. Methods beyond [`TYPES_MAX`] share the common one.
const fn types(methods: &[usize]) -> u8 {
    let (mut at, mut types) = (0, 1);
    while at < methods.len() {
        types += methods[at];
        at += 1;
    }
    #[expect(clippy::cast_possible_truncation, reason = "less than a u8 holds")]
    let types = if types < TYPES_MAX as usize { types as u8 } else { TYPES_MAX };
    types
}

/// Whether a request seems to be for this service, for servers with their own protocol too.
#[must_use]
pub fn is_for<M: Methods>(request: &[u8]) -> bool {
    method::id_of(request).is_some_and(|id| id.service() == M::SERVICE.id)
}

/// Answers a request that is for a method of this service; returns whether it was. For servers that
/// also have their own protocol, and call this if a request is not part of that.
#[inline]
pub fn serve_if_meant<M: Methods>(methods: &M, request: &[u8], reply: &mut Reply<'_>) -> bool {
    let is_meant = is_for::<M>(request);
    if is_meant {
        serve(methods, request, reply);
    }
    is_meant
}

/// The type of a request, at a server with one service.
#[must_use]
pub fn rpc_type<M: Methods>(request: &[u8]) -> RpcType {
    match method::id_of(request) {
        Some(id) if id.service() == M::SERVICE.id => type_of(1, M::METHODS, id.method()),
        _ => RpcType(0),
    }
}

/// The type of a method if its service's types begin at `first`; the common one for an unknown
/// method, or beyond [`TYPES_MAX`].
fn type_of(first: usize, methods: &[u16], method: u16) -> RpcType {
    let at = methods.iter().position(|&one| one == method);
    at.and_then(|at| u8::try_from(first + at).ok()).filter(|&kind| kind < TYPES_MAX).map_or(RpcType(0), RpcType)
}

/// Answers an RPC with an extension, with a known caller, or of another service.
#[inline(never)]
fn serve_otherwise<M: Methods>(methods: &M, request: &[u8], reply: &mut Reply<'_>) {
    match method::open(request) {
        Some(Opened { id, extension, body }) if id.service() == M::SERVICE.id => {
            dispatch(methods, id, extension, body, reply);
        }
        other => refuse(other, reply),
    }
}

#[inline(always)]
fn dispatch<M: Methods>(methods: &M, id: MethodId, extension: &[u8], body: &[u8], reply: &mut Reply<'_>) {
    let caller = reply.take_caller();
    let context = Context::new(id, extension, caller.as_ref()).asked_in(reply.asked());
    // The deadline in a header was checked earlier.
    match extension.is_empty() || context.time_left() != Some(Span::ZERO) {
        true => methods.call(&context, body, reply),
        false => Status::deadline_exceeded("it was over before the RPC began").reply(reply),
    }
    if let Some(caller) = caller {
        reply.give_back(caller);
    }
}

#[cold]
fn refuse(opened: Option<Opened<'_>>, reply: &mut Reply<'_>) {
    let status = match opened {
        None => Status::invalid_argument("the request is too short for a typed one"),
        Some(opened) => Status::unimplemented(format!("this server has no service {}", opened.id.service())),
    };
    status.reply(reply);
}

/// Ends an RPC whose handler has returned. Generated code calls it.
#[inline(always)]
pub fn end(ended: Result<(), Status>, reply: &mut Reply<'_>) {
    match ended {
        Ok(()) if !reply.is_untouched() => {}
        Ok(()) => no_reply(reply),
        Err(status) => fail(status, reply),
    }
}

#[cold]
#[expect(clippy::needless_pass_by_value, reason = "nothing of a status is left to do where it is called")]
fn fail(status: Status, reply: &mut Reply<'_>) {
    status.reply(reply);
}

/// Decodes the request's `body`, and answers by `handler`. Not inlined into a service's dispatch,
/// because that would slow down methods whose requests are read in place.
#[inline(never)]
pub fn answer<Q: Message, P: Message>(
    body: &[u8],
    reply: &mut Reply<'_>,
    handler: impl FnOnce(&Q, Slot<'_, '_, P>) -> Result<(), Status>,
) {
    Q::As::with_place(body.len(), |place| match Q::As::read(body, place) {
        Some(request) => {
            let ended = handler(request, Slot::new(reply));
            end(ended, reply);
        }
        None => no_message(reply),
    });
}

/// Answers an RPC of a method that returns a stream, with one window.
pub fn answer_window<Q: Message, P: Message>(
    context: &Context<'_>,
    body: &[u8],
    reply: &mut Reply<'_>,
    handler: impl FnOnce(&Q, &mut Window<'_, '_, P>) -> Result<(), Status>,
) {
    let mut window = Window::new(context.cursor(), reply);
    let ended =
        Q::As::with_place(body.len(), |place| Q::As::read(body, place).map(|request| handler(request, &mut window)));
    match ended {
        Some(Ok(())) => window.close().unwrap_or_else(|status| status.reply(reply)),
        Some(Err(status)) => status.reply(reply),
        None => no_message(reply),
    }
}

#[cold]
fn no_reply(reply: &mut Reply<'_>) {
    Status::internal("the handler returned without a reply").reply(reply);
}

/// Answers that the request is no message of its method. Generated code calls it.
#[cold]
pub fn no_message(reply: &mut Reply<'_>) {
    Status::invalid_argument("the request's bytes are no message of its method").reply(reply);
}

/// Answers an RPC of an undeclared method: the one that every service has, or an unknown one.
#[cold]
pub fn unknown_method(service: &ServiceInfo, context: &Context<'_>, body: &[u8], reply: &mut Reply<'_>) {
    if context.method() == describe::METHOD {
        return describe::answer(service, body, reply);
    }
    Status::unimplemented(format!("{} has no method {} here", service.name, context.method())).reply(reply);
}

/// Several services behind one server, up to eight: `Services::new((ShopServer(shop),
/// StockServer(stock)))`. A request's service is found by comparing its number with each.
#[derive(Debug)]
pub struct Services<T>(T);

impl<T: Together> Services<T> {
    /// The services behind one server. Two with the same number are a compile error: give one of
    /// them another by `option (nebula.service_id)`.
    pub const fn new(services: T) -> Self {
        const { assert!(T::ARE_DISTINCT, "two services have one number: set (nebula.service_id)") };
        Self(services)
    }
}

impl<T: Together> Service for Services<T> {
    #[inline(always)]
    fn serve(&self, request: &[u8], reply: &mut Reply<'_>) {
        self.0.serve(request, reply);
    }

    fn describe(&self) -> Description {
        let type_of = |request: &[u8]| method::id_of(request).map_or(RpcType(0), T::rpc_type);
        let class_of = |request: &[u8]| method::id_of(request).map_or(Class::Dispatch, T::class);
        let mut description = Description::default().types(T::TYPES, type_of);
        description.reply_bytes_max = T::REPLY_BYTES_MAX;
        if T::HAS_LONG { description.classes(class_of) } else { description }
    }
}

/// Several services of one server: tuples of up to eight [`Methods`].
pub trait Together {
    /// Whether their numbers differ.
    const ARE_DISTINCT: bool;
    /// Room for their longest reply, in bytes, if known.
    const REPLY_BYTES_MAX: Option<u32>;
    /// Whether any of their methods is of [`Class::Worker`].
    const HAS_LONG: bool;
    /// The number of their RPC types: one for each method, and the common one.
    const TYPES: u8;

    /// Where the handler of a method runs.
    fn class(id: MethodId) -> Class;

    /// The type of a method's RPCs.
    fn rpc_type(id: MethodId) -> RpcType;

    /// Answers one RPC by its service.
    fn serve(&self, request: &[u8], reply: &mut Reply<'_>);

    /// As [`serve`](Self::serve), of a request with an extension, with a known caller, or of
    /// another service.
    fn serve_otherwise(&self, request: &[u8], reply: &mut Reply<'_>);
}

const fn are_distinct(ids: &[u16]) -> bool {
    let (mut i, mut j) = (0, 1);
    while i + 1 < ids.len() {
        if j == ids.len() {
            (i, j) = (i + 1, i + 2);
        } else if ids[i] == ids[j] {
            return false;
        } else {
            j += 1;
        }
    }
    true
}

/// The longest reply of several services; `None` if one is unknown.
const fn longest(replies: &[Option<u32>]) -> Option<u32> {
    let (mut at, mut most) = (0, 0);
    while at < replies.len() {
        match replies[at] {
            Some(bytes) => most = if bytes > most { bytes } else { most },
            None => return None,
        }
        at += 1;
    }
    Some(most)
}

macro_rules! services {
    ($($name:ident),+) => {
        impl<$($name: Methods),+> Together for ($($name,)+) {
            const ARE_DISTINCT: bool = are_distinct(&[$($name::SERVICE.id),+]);
            const REPLY_BYTES_MAX: Option<u32> = longest(&[$($name::SERVICE.reply_bytes_max),+]);
            const HAS_LONG: bool = $($name::HAS_LONG)||+;
            const TYPES: u8 = types(&[$($name::METHODS.len()),+]);

            fn class(id: MethodId) -> Class {
                match id.service() {
                    $(service if service == $name::SERVICE.id => $name::class(id.method()),)+
                    _ => Class::Dispatch,
                }
            }

            fn rpc_type(id: MethodId) -> RpcType {
                let services = [$(($name::SERVICE.id, $name::METHODS)),+];
                let mut first = 1;
                for (service, methods) in services {
                    if service == id.service() {
                        return type_of(first, methods, id.method());
                    }
                    first += methods.len();
                }
                RpcType(0)
            }

            #[inline(always)]
            #[expect(non_snake_case, reason = "one name for a service's type and its value")]
            fn serve(&self, request: &[u8], reply: &mut Reply<'_>) {
                let ($($name,)+) = self;
                match method::open_plain(request) {
                    $(Some((id, body)) if id.service() == $name::SERVICE.id && reply.has_no_caller() => {
                        $name.call(&Context::new(id, &[], None).asked_in(reply.asked()), body, reply);
                    })+
                    _ => self.serve_otherwise(request, reply),
                }
            }

            #[inline(never)]
            #[expect(non_snake_case, reason = "as above")]
            fn serve_otherwise(&self, request: &[u8], reply: &mut Reply<'_>) {
                let ($($name,)+) = self;
                match method::open(request) {
                    $(Some(Opened { id, extension, body }) if id.service() == $name::SERVICE.id => {
                        dispatch($name, id, extension, body, reply);
                    })+
                    other => refuse(other, reply),
                }
            }
        }
    };
}

services!(A);
services!(A, B);
services!(A, B, C);
services!(A, B, C, D);
services!(A, B, C, D, E);
services!(A, B, C, D, E, F);
services!(A, B, C, D, E, F, G);
services!(A, B, C, D, E, F, G, H);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_distinct_or_not() {
        assert!(are_distinct(&[]) && are_distinct(&[1]) && are_distinct(&[1, 2, 3, 4]));
        for same in [&[1, 1][..], &[1, 2, 1], &[2, 1, 1], &[1, 2, 3, 2]] {
            assert!(!are_distinct(same), "{same:?}");
        }
    }

    #[test]
    fn each_method_has_a_type_as_long_as_there_are_some_left() {
        let of = |first, method| type_of(first, &[3, 1, 4000], method);
        assert_eq!([of(1, 3), of(1, 4000), of(62, 1), of(62, 4000), of(1, 2)], [1, 3, 63, 0, 0].map(RpcType));
        assert_eq!([types(&[]), types(&[3, 4]), types(&[60, 3]), types(&[60, 300])], [1, 8, 64, 64]);
    }

    #[test]
    fn the_longest_reply_is_known_where_all_are() {
        assert_eq!((longest(&[Some(3), Some(9), Some(4)]), longest(&[Some(3), None])), (Some(9), None));
    }
}
