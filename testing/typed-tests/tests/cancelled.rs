//! A handler that runs is told that nobody waits for it any more.

use nebula::{CallError, Class, ClientConfig, Options, RunningServer, Server, ServerConfig, Service, Span};
use nebula_testing::wait::{Limit, WAIT_MAX};
use nebula_typed::{Classed, Code, Context, Slot, Status};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{self, Waker};
use typed_tests::every::{Other, OtherAsyncClient, OtherClient, OtherMethod, OtherServer, Pair, Sum};

/// Adds, and takes its time: until its client waits no more, if the first number is not 0.
#[derive(Clone)]
struct Slow {
    begun: Arc<AtomicU32>,
    /// Those that run need not wait any longer.
    is_released: Arc<AtomicBool>,
    ended: mpsc::Sender<bool>,
}

impl Slow {
    /// One of either side of a channel by which handlers say that they were told.
    fn new() -> (Self, mpsc::Receiver<bool>) {
        let (ended, told) = mpsc::channel();
        (Self { begun: Arc::default(), is_released: Arc::default(), ended }, told)
    }

    /// Whether the client has stopped waiting before this did.
    fn work(&self, context: &Context) -> bool {
        let limit = Limit::new("what its client says");
        self.begun.fetch_add(1, Ordering::Release);
        while !context.is_cancelled() {
            if self.is_released.load(Ordering::Acquire) {
                return false;
            }
            limit.check();
            std::thread::yield_now();
        }
        true
    }
}

impl Other for Slow {
    fn add(&self, context: &Context, request: &Pair, reply: Slot<Sum>) -> Result<(), Status> {
        if request.a.get() == 0 {
            assert!(!context.is_cancelled(), "what was said of another RPC");
            return reply.write(&Sum { sum: i64::from(request.b.get()).into() });
        }
        let was_told = self.work(context);
        self.ended.send(was_told).map_err(|_| Status::internal("the test is over"))?;
        Err(Status::cancelled("nobody waits"))
    }
}

fn serve_at(endpoint: &str, service: impl Service + Send + Sync + 'static) -> RunningServer {
    // Nothing is refused, however long a handler takes and whatever waits behind it.
    let config = ServerConfig::default()
        .inline(false)
        .reply_bytes_max(256)
        .slo(Span::from_secs(3600))
        .service_mean(Span::from_secs(1));
    Server::bind(endpoint).config(config).serve(service).unwrap()
}

/// Cancels RPCs whose handlers run, one after the other, and calls one that is not cancelled after
/// each.
fn cancel_some(server: RunningServer, slow: &Slow, told: &mpsc::Receiver<bool>) {
    let mut client = OtherClient::connect(server.endpoint()).unwrap();
    for number in 0..8 {
        let ticket = client.submit_add(&Pair { a: 1.into(), b: 2.into() }).unwrap();
        while slow.begun.load(Ordering::Acquire) <= number {
            assert!(client.poll().is_none(), "its handler waits");
        }
        assert!(client.channel().client().cancel(ticket));
        // Over shared memory not every look at a ring is one at what has ended otherwise.
        let (ended, reply) = loop {
            if let Some(end) = client.poll() {
                break end;
            }
        };
        assert_eq!((ended, reply.unwrap_err()), (ticket, CallError::Cancelled.into()));
        let was_told = loop {
            assert!(client.poll().is_none());
            if let Ok(was_told) = told.try_recv() {
                break was_told;
            }
        };
        assert!(was_told);
        assert_eq!(client.add(&Pair { a: 0.into(), b: 7.into() }).unwrap().sum.get(), 7);
    }
    server.stop();
}

#[test]
fn a_handler_that_runs_is_told_that_its_client_has_cancelled() {
    for endpoint in endpoints("cancelled") {
        let (slow, told) = Slow::new();
        cancel_some(serve_at(&endpoint, OtherServer(slow.clone())), &slow, &told);
        let (slow, told) = Slow::new();
        let in_pool = Classed::new(OtherServer(slow.clone())).with_class(OtherMethod::Add, Class::Worker);
        cancel_some(serve_at(&endpoint, in_pool), &slow, &told);
    }
}

/// Over either transport: over shared memory the request says until when its client waits, over UDP
/// its header does.
fn endpoints(name: &str) -> [String; 2] {
    [format!("shm://typed-{name}-{}", std::process::id()), "udp://127.0.0.1:0".to_owned()]
}

#[test]
fn a_handler_that_runs_is_told_that_its_deadline_is_over() {
    for endpoint in endpoints("deadline") {
        let (slow, told) = Slow::new();
        let server = serve_at(&endpoint, OtherServer(slow.clone()));
        let config = ClientConfig::default().deadline(Span::from_ms(200));
        let mut client = OtherClient::connect_with(server.endpoint(), config).unwrap();
        let mut call = || client.add(&Pair { a: 1.into(), b: 2.into() }).unwrap_err();
        let mut error = call();
        // On a busy machine it may be over before a handler begins.
        while slow.begun.load(Ordering::Acquire) == 0 {
            error = call();
        }
        // The handler's reply may come just before the client's own clock has it over.
        let is_cancelled = error.status().is_some_and(|status| status.code() == Code::Cancelled);
        assert!(is_cancelled || error == CallError::TimedOut.into(), "{endpoint}: {error:?}");
        assert_eq!(told.recv_timeout(WAIT_MAX), Ok(true), "{endpoint}");
        server.stop();
    }
}

#[test]
fn handlers_are_told_the_deadline_of_a_single_rpc_and_of_a_tasks_call() {
    let pair = Pair { a: 1.into(), b: 2.into() };
    let (long, short) = (Span::from_secs(3600), Span::from_ms(200));
    for endpoint in endpoints("of-one") {
        let (slow, told) = Slow::new();
        let server = serve_at(&endpoint, OtherServer(slow.clone()));
        let mut client = OtherClient::connect_with(server.endpoint(), ClientConfig::default().deadline(long)).unwrap();
        while slow.begun.load(Ordering::Acquire) == 0 {
            let options = Options::default().deadline(short);
            client.channel().submit_with(OtherMethod::Add.into(), &pair, options).unwrap();
            while client.poll().is_none() {
                std::thread::yield_now();
            }
        }
        assert_eq!(told.recv_timeout(WAIT_MAX), Ok(true), "{endpoint}");
        let client =
            OtherAsyncClient::connect_with(server.endpoint(), ClientConfig::default().deadline(short)).wait().unwrap();
        while slow.begun.load(Ordering::Acquire) == 1 {
            let mut call = pin!(client.add(&pair));
            while call.as_mut().poll(&mut task::Context::from_waker(Waker::noop())).is_pending() {
                std::thread::yield_now();
            }
        }
        assert_eq!(told.recv_timeout(WAIT_MAX), Ok(true), "{endpoint}");
        server.stop();
    }
}

#[test]
fn what_is_over_before_its_handler_begins_is_not_executed() {
    let pair = Pair { a: 1.into(), b: 2.into() };
    for endpoint in endpoints("before") {
        let (slow, told) = Slow::new();
        let server = serve_at(&endpoint, OtherServer(slow.clone()));
        let [mut blocking, mut client] = [(); 2].map(|()| OtherClient::connect(server.endpoint()).unwrap());
        blocking.submit_add(&pair).unwrap();
        while slow.begun.load(Ordering::Acquire) == 0 {
            assert!(blocking.poll().is_none(), "its handler waits");
        }
        // The one worker is busy until both are over.
        for _ in 0..2 {
            let options = Options::default().deadline(Span::from_ms(5));
            client.channel().submit_with(OtherMethod::Add.into(), &pair, options).unwrap();
            let end = loop {
                if let Some((_, end)) = client.poll() {
                    break end;
                }
            };
            // On a busy machine its packet may be read after the deadline: the server then says so
            // before the client's own clock does.
            let end = end.unwrap_err();
            assert!([CallError::TimedOut, CallError::Expired].map(Into::into).contains(&end), "{endpoint}: {end:?}");
        }
        slow.is_released.store(true, Ordering::Release);
        let _ = told.recv_timeout(WAIT_MAX).unwrap();
        assert_eq!(client.add(&Pair { a: 0.into(), b: 7.into() }).unwrap().sum.get(), 7, "{endpoint}");
        assert_eq!(slow.begun.load(Ordering::Acquire), 1, "{endpoint}");
        server.stop();
    }
}
