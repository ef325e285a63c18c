//! One operation of the NIC, N times: for counting its instructions.
//!
//! ```text
//! instructions OPERATION CLIENTS CORES N          OPERATION: recv-buffer, reassembler, dispatch, backend
//! ```
//!
//! For callgrind: the instructions of a run with 2N less those of a run with N, divided by N, are
//! those of one operation, without set-up. `cargo xtask bench instructions` does that for few and
//! many clients and cores. Each loop holds a window of RPCs that grows with the cores, and ends
//! them in another order than they began, as a server does.

use nebula_nic::{
    Backend, BackendConfig, CentralDispatch, CoreId, Frontend, Header, Holder, Incomplete, Jbsq, Mtu, NodeId, Part,
    Placement, Policy, Reassembler, RecvBuffer, Release, RpcKey, SlotRange, Sources, Timestamp, TransferId, Verdict,
};
use std::hint::black_box;

/// Buffer and table are sized from the SLO, so that they are the same at every scale: 64 cores, 540
/// RPCs of 1 KiB.
const SLOTS: u32 = 8640;
const REASSEMBLER_ENTRIES: u32 = 540;

/// Of JBSQ(2).
const BOUND: u32 = 2;

fn main() -> Result<(), String> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [operation, numbers @ ..] = args.as_slice() else { return Err(usage()) };
    let numbers: Vec<u32> = numbers.iter().map_while(|number| number.parse().ok()).collect();
    let &[clients, cores, n] = numbers.as_slice() else { return Err(usage()) };
    let cores = u16::try_from(cores).map_err(|_| usage())?;
    match operation.as_str() {
        "recv-buffer" => recv_buffer(cores, n),
        "reassembler" => reassembler(clients, cores, n),
        "dispatch" => dispatch(cores, n),
        "backend" => backend(clients, cores, n)?,
        _ => return Err(usage()),
    }
    Ok(())
}

fn usage() -> String {
    "usage: instructions recv-buffer|reassembler|dispatch|backend CLIENTS CORES N".to_owned()
}

/// Requests of the clients in turn, each with its own numbers.
struct Requests {
    clients: u32,
    next: RpcKey,
}

impl Requests {
    fn of(clients: u32) -> Self {
        Self { clients, next: RpcKey { snid: NodeId(0), tid: TransferId(0) } }
    }

    #[inline]
    fn next(&mut self) -> RpcKey {
        let rpc = self.next;
        self.next.snid.0 += 1;
        if self.next.snid.0 == self.clients {
            self.next = RpcKey { snid: NodeId(0), tid: TransferId(rpc.tid.0 + 1) };
        }
        rpc
    }
}

/// Live items, replaced one at a time in an order that differs from lap to lap.
struct Window<T> {
    live: Box<[T]>,
    at: usize,
    lap: usize,
}

impl<T: Copy> Window<T> {
    /// Of an even length.
    fn of(count: u16, begin: impl FnMut(u16) -> T) -> Self {
        Self { live: (0..count).map(begin).collect(), at: 0, lap: 0 }
    }

    /// The item that ends next.
    #[inline]
    fn turn(&mut self) -> &mut T {
        let index = self.at ^ self.lap;
        self.at += 1;
        if self.at == self.live.len() {
            (self.at, self.lap) = (0, self.lap ^ 1);
        }
        &mut self.live[index]
    }
}

/// One operation: a core frees 8 slots, and 8 others are allocated and given to it.
fn recv_buffer(cores: u16, n: u32) {
    let mut buffer = RecvBuffer::new(SLOTS);
    let mut live = Window::of(cores * 2, |_| take(&mut buffer));
    for _ in 0..n {
        let range = live.turn();
        assert!(buffer.free(*range, Holder::Core(CoreId(0))));
        *range = black_box(take(&mut buffer));
    }
}

#[inline]
fn take(buffer: &mut RecvBuffer) -> SlotRange {
    let range = buffer.alloc(8).expect("the buffer is larger than what the cores hold");
    buffer.give(range, CoreId(0));
    range
}

/// One operation: the first packet of an RPC of four, and the other three packets of an RPC begun
/// earlier.
fn reassembler(clients: u32, cores: u16, n: u32) {
    let mut table = Reassembler::new(REASSEMBLER_ENTRIES, SLOTS, Mtu::MIN, 1);
    let mut requests = Requests::of(clients);
    let mut next_slot = 0;
    let mut begin = |table: &mut Reassembler| {
        let rpc = requests.next();
        let slots = SlotRange::new(next_slot, 4);
        next_slot = if next_slot + 8 > SLOTS { 0 } else { next_slot + 4 };
        assert!(table.handle_packet(&part(rpc, 0)).is_none());
        table.start(
            Timestamp::ZERO,
            Incomplete { rpc, slots, bytes: 256, key_hash: 0, placement: Placement::Shared },
            0,
        );
        rpc
    };
    let mut live = Window::of(cores, |_| begin(&mut table));
    for _ in 0..n {
        let rpc = live.turn();
        for pkt_idx in 1..3 {
            assert!(matches!(table.handle_packet(&part(*rpc, pkt_idx)), Some(Ok(Part::More(_)))));
        }
        assert!(matches!(table.handle_packet(&part(*rpc, 3)), Some(Ok(Part::Last(_)))));
        *rpc = begin(&mut table);
    }
}

#[inline]
fn part(rpc: RpcKey, pkt_idx: u32) -> Header {
    black_box(Header { snid: rpc.snid, tid: rpc.tid, rpc_bytes: 256, pkt_idx, ..Header::default() })
}

/// One operation: a core is freed, and JBSQ(2) chooses one. Three quarters of the credit are used.
fn dispatch(cores: u16, n: u32) {
    let mut jbsq = Jbsq::new(cores, BOUND);
    let mut live = Window::of(cores / 2 * 3, |_| choose(&mut jbsq));
    for _ in 0..n {
        let core = live.turn();
        jbsq.handle_freed(*core);
        *core = black_box(choose(&mut jbsq));
    }
}

#[inline]
fn choose(jbsq: &mut Jbsq) -> CoreId {
    let core = jbsq.pick().expect("a quarter of the credit is left");
    jbsq.handle_dispatched(core);
    core
}

/// One operation: a request of one packet through the back end, a front end, and back. Three
/// quarters of the credit are used.
fn backend(clients: u32, cores: u16, n: u32) -> Result<(), String> {
    let config = BackendConfig::new(cores, Policy::Jbsq(BOUND)).slots(SLOTS).reassembler_entries(REASSEMBLER_ENTRIES);
    let config = config.sources(Sources { shift: 0, bits: 14 });
    let backend = Backend::try_new(config).map_err(|error| error.to_string())?;
    let frontends = (0..cores).map(|core| Frontend::new(CoreId(core), BOUND)).collect();
    let mut server = Server { backend, frontends, requests: Requests::of(clients) };
    let mut live = Window::of(cores / 2 * 3, |_| server.begin());
    for _ in 0..n {
        let core = live.turn();
        server.end(*core);
        *core = black_box(server.begin());
    }
    Ok(())
}

/// A back end and the front ends of its cores.
struct Server {
    backend: Backend,
    frontends: Vec<Frontend>,
    requests: Requests,
}

impl Server {
    /// A request arrives and is dispatched to a core.
    #[inline]
    fn begin(&mut self) -> CoreId {
        let RpcKey { snid, tid } = self.requests.next();
        let header = black_box(Header { snid, tid, rpc_bytes: 64, ..Header::default() });
        let verdict = self.backend.handle_packet(Timestamp::ZERO, header);
        assert!(matches!(black_box(verdict), Verdict::Write { complete: true, .. }));
        let dispatch = self.backend.poll_dispatch().expect("a core has credit");
        self.frontends[dispatch.core.index()].handle_dispatch(dispatch);
        dispatch.core
    }

    /// A core serves the next of its requests.
    #[inline]
    fn end(&mut self, core: CoreId) {
        let frontend = &mut self.frontends[core.index()];
        let begun = frontend.poll_completion().expect("the core was given a request");
        let Release { core, slots } = frontend.handle_release(begun.arrival.slots);
        self.backend.handle_free(core, slots);
    }
}
