//! Under `darc` each method is a type of RPCs: short methods keep a worker while long ones wait for
//! the others.

use super::endpoint;
use nebula::{ClientConfig, FlowKind, Policy, RpcType, RpcTypes, RunningServer, Server, ServerConfig, Service, Span};
use nebula_testing::wait::{WAIT_MAX, spin, wait_until};
use nebula_typed::{Code, Context, Measured, MethodId, Services, Slot, Status};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;
use typed_tests::EveryService;
use typed_tests::every::{
    EVERY, EveryClient, EveryServer, OTHER, Other, OtherClient, OtherEnded, OtherServer, Pair, Sum,
};

/// RPCs until cores are reserved.
const WINDOW: u32 = 32;
/// What clients ask as they connect is a type too, and as noisy as two samples are: beside it there
/// is one for the short method and one for the long.
const WORKERS: u32 = 3;
/// Long RPCs of a window; those before them are short.
const LONG_RPCS: u32 = 4;
/// What clients ask as they connect.
const CONNECTING: u32 = 2;
/// Longer than a busy machine makes the mean of the short ones.
const LONG: Duration = Duration::from_millis(40);
/// A number that no method has.
const UNKNOWN: u16 = 999;

/// Adds slowly; where the first number is 0, once the gate is open.
#[derive(Clone, Debug, Default)]
struct Slow {
    is_open: Arc<AtomicBool>,
    held: Arc<AtomicU32>,
}

impl Other for Slow {
    fn add(&self, _: &Context, request: &Pair, reply: Slot<Sum>) -> Result<(), Status> {
        if request.a.get() == 0 {
            self.held.fetch_add(1, Ordering::Relaxed);
            wait_until("the gate", || self.is_open.load(Ordering::Relaxed).then_some(()));
        } else {
            spin(LONG);
        }
        reply.write(&Sum { sum: i64::from(request.a.get() + request.b.get()).into() })
    }
}

fn serve(at: &str) -> (RunningServer, Slow) {
    let slow = Slow::default();
    let services = Services::new((EveryServer(EveryService), OtherServer(slow.clone())));
    let config = ServerConfig::default().policy(Policy::Darc).workers(3).type_window(WINDOW);
    // Nothing is refused, however long handlers take.
    let config = config.slo(Span::from_secs(3600)).service_mean(Span::from_secs(1)).reply_bytes_max(2048);
    (Server::bind(at).config(config).serve(services).unwrap(), slow)
}

#[test]
fn short_methods_are_served_while_long_ones_wait() {
    for at in [endpoint("darc"), "udp://127.0.0.1:0".to_owned()] {
        let (server, slow) = serve(&at);
        assert_eq!(server.pool(), None, "{at}: methods of class WORKER run where they arrive");
        // A packet that a busy machine is slow to answer looks lost, and would let fewer RPCs out
        // at once than there are workers.
        let config = || ClientConfig::default().call_timeout(WAIT_MAX).flow(FlowKind::Unbounded);
        let mut every = EveryClient::connect_with(server.endpoint(), config()).unwrap();
        let mut other = OtherClient::connect_with(server.endpoint(), config()).unwrap();
        let is_freed = |rpcs: u32| {
            wait_until("its end", || (server.status().read().freed >= u64::from(CONNECTING + rpcs)).then_some(()));
        };
        let shorts = WINDOW - CONNECTING - LONG_RPCS;
        for number in 0..shorts {
            assert_eq!(every.nothing(&()), Ok(()));
            is_freed(number + 1);
        }
        for _ in 0..LONG_RPCS {
            assert_eq!(other.add(&Pair { a: 1.into(), b: 2.into() }), Ok(Sum { sum: 3.into() }));
        }
        is_freed(shorts + LONG_RPCS);
        let unknown = every.channel().call::<(), ()>(MethodId::new(OTHER.id, UNKNOWN), &()).unwrap_err();
        assert_eq!(unknown.status().map(Status::code), Some(Code::Unimplemented), "{at}: {unknown}");
        for _ in 0..WORKERS {
            other.submit_add(&Pair::default()).unwrap();
        }
        other.channel().client().flush();
        wait_until("their arrival", || {
            (server.status().read().packets >= u64::from(WINDOW + 1 + WORKERS)).then_some(())
        });
        for _ in 0..50 {
            assert_eq!(every.nothing(&()), Ok(()), "{at}");
        }
        assert!(slow.held.load(Ordering::Relaxed) < WORKERS, "{at}: a worker is kept for short ones");
        slow.is_open.store(true, Ordering::Relaxed);
        for _ in 0..WORKERS {
            wait_until("a sum", || {
                let (_, sum) = other.poll()?;
                assert!(matches!(sum, Ok(OtherEnded::Add(sum)) if sum.sum.get() == 0), "{at}");
                Some(())
            });
        }
    }
}

#[test]
fn each_method_of_each_service_is_a_type() {
    let types = |service: &dyn Service| service.describe().types.expect("types");
    let type_of = |types: &RpcTypes, id: u16, method| types.type_of(&MethodId::new(id, method).to_bytes());
    let server = EveryServer(EveryService);
    let every = types(&server);
    assert_eq!(every.types(), 11, "ten methods and the common type");
    let methods = [1, 2, 7, 4095, UNKNOWN];
    assert_eq!(methods.map(|method| type_of(&every, EVERY.id, method)), [1, 2, 3, 10, 0].map(RpcType));
    assert_eq!(type_of(&every, OTHER.id, 1), RpcType(0), "another service's");
    assert_eq!(every.type_of(b"abc"), RpcType(0), "too short for a method");
    let both = types(&Services::new((server.clone(), OtherServer(Slow::default()))));
    assert_eq!(
        (both.types(), type_of(&both, EVERY.id, 4095), type_of(&both, OTHER.id, 1)),
        (12, RpcType(10), RpcType(11))
    );
    assert_eq!((type_of(&both, OTHER.id, 2), type_of(&both, 7, 1)), (RpcType(0), RpcType(0)));
    let measured = types(&Measured::new(server));
    assert_eq!((measured.types(), type_of(&measured, EVERY.id, 7)), (11, RpcType(3)));
}
