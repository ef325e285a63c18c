//! An RPC allocates nothing, neither at the client nor at the server.

mod support;

use nebula::{Client, ClientConfig, Queueing, Reply, Server, SubmitError};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use support::watch::Watchdog;
use support::{endpoint, server_config, wait_until_clean};

/// Allocations of the test and of every thread that began after it.
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static HAS_BEGUN: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Decided by a thread's first allocation. The harness's own thread, which may run whenever it likes, does not count.
    static COUNTS: Cell<Option<bool>> = const { Cell::new(None) };
}

fn count() {
    let counts = COUNTS.get().unwrap_or_else(|| HAS_BEGUN.load(Ordering::Relaxed));
    COUNTS.set(Some(counts));
    ALLOCATIONS.fetch_add(u64::from(counts), Ordering::Relaxed);
}

struct Counting;

// SAFETY: every call is handed to the system's allocator unchanged; counting touches plain integers only.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps `alloc`'s contract, which is the system allocator's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Answers with the request; a long request too, so that packets are put together.
fn echo(request: &[u8], reply: &mut Reply<'_>) {
    reply.write(request);
}

/// Sends `rpcs` RPCs, 64 at once, one in 16 of several packets, and counts the replies.
fn stream(client: &mut Client, rpcs: u64) -> u64 {
    let request = [7; 3000];
    let (mut sent, mut ended, mut replied) = (0, 0, 0);
    while ended < rpcs {
        if sent < rpcs && client.outstanding() < 64 {
            let bytes = if sent % 16 == 0 { 3000 } else { 64 };
            match client.submit(&request[..bytes]) {
                Ok(_) => sent += 1,
                Err(error) => assert_eq!(error, SubmitError::Full),
            }
        }
        match client.poll().map(|done| done.result.is_ok_and(|reply| reply[0] == 7)) {
            Some(is_reply) => {
                replied += u64::from(is_reply);
                ended += 1;
            }
            None if client.outstanding() >= 64 => std::thread::yield_now(),
            None => {}
        }
    }
    replied
}

/// Allocations while a client that has warmed up sends `rpcs` RPCs.
fn allocations_of(inline: bool, rpcs: u64) -> u64 {
    let name = endpoint(&format!("allocations-{inline}"));
    let config = server_config(|config| {
        config.inline = inline;
        // However slow the machine is, the queue is long enough.
        config.queueing = Queueing::Unbounded { recv_buffer_bytes: 1 << 20 };
    });
    let server = Server::bind(&name).config(config).serve(echo).expect("a server");
    let config = ClientConfig::default().slots(512).reply_bytes_max(3000);
    let mut client = Client::connect_with(&name, config).expect("a seat");
    stream(&mut client, 10_000);
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    let replied = stream(&mut client, rpcs);
    let allocations = ALLOCATIONS.load(Ordering::Relaxed) - before;
    assert!(replied > rpcs / 4, "{replied} of {rpcs} were answered");
    drop(client);
    wait_until_clean(server.status(), 0);
    server.stop();
    allocations
}

// One test, for it counts what the whole process allocates.
#[test]
fn no_rpc_allocates_at_either_side() {
    let _watchdog = Watchdog::new("no RPC allocates");
    HAS_BEGUN.store(true, Ordering::Relaxed);
    COUNTS.set(Some(true));
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    drop(std::hint::black_box(Box::new(7)));
    assert_eq!(ALLOCATIONS.load(Ordering::Relaxed), before + 1, "the counter counts");
    assert_eq!(allocations_of(true, 1_000_000), 0, "of a million RPCs with an inline server");
    assert_eq!(allocations_of(false, 100_000), 0, "of RPCs with an engine and a worker");
}
