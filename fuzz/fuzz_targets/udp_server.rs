//! Any datagrams into a real server over a simulated wire: no panic, an unvalidated address is
//! never sent more bytes than it sent, no RPC is executed twice, and at the end no slot is held.
#![no_main]

#[path = "../../runtime/nebula/tests/support/hand_wire.rs"]
#[allow(dead_code)]
mod hand_wire;
#[path = "udp_server/executions.rs"]
mod executions;
#[path = "udp_server/input.rs"]
mod input;
#[path = "../../runtime/nebula/tests/support/udp_raw.rs"]
#[allow(dead_code)]
mod udp_raw;

use executions::Executions;
use hand_wire::{Hand, hand_wire};
use input::{Input, Op};
use libfuzzer_sys::fuzz_target;
use nebula::net::{Environment, Time};
use nebula::{Reply, RunningServer, Server, Service, Worker};
use std::cell::RefCell;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use udp_raw::{Header, RawClient, Welcome, checked};

/// After these the counters have been published.
const TURNS: usize = 257;

struct Count {
    executions: RefCell<Executions>,
    clock: Arc<AtomicU64>,
}

impl Service for Count {
    fn serve(&self, request: &[u8], reply: &mut Reply<'_>) {
        self.executions.borrow_mut().execute(request);
        self.clock.fetch_add(1_000_000, Relaxed);
        reply.write(request);
        reply.write(&[1; 1500]);
    }
}

struct Scene {
    running: RunningServer,
    worker: Worker,
    hand: Hand,
    count: Count,
    client: RawClient,
}

fuzz_target!(|input: Input| {
    let mut scene = Scene::open(&input);
    for op in &input.ops {
        scene.apply(op);
    }
    scene.close();
});

impl Scene {
    fn open(input: &Input) -> Self {
        let clock = Arc::new(AtomicU64::new(1_000_000_000_000));
        let (wire, hand) = hand_wire(SocketAddr::from(([10, 0, 0, 1], 7400)));
        let environment = Environment { wire: Box::new(wire), time: Time::Manual(clock.clone()), entropy: [3; 32] };
        let server = Server::bind("udp://10.0.0.1:7400").config(input.config());
        let (running, mut workers) = server.open_over(environment).expect("a server");
        let worker = workers.pop().expect("one worker, the engine too");
        let count = Count { executions: RefCell::default(), clock };
        let client = RawClient::new(SocketAddr::from(([10, 0, 0, 2], 1)), None);
        let mut scene = Self { running, worker, hand, count, client };
        let hello = scene.client.hello(1);
        let address = scene.client.address;
        let said = scene.say(address, &hello);
        scene.client.enter(&Welcome::read(&said[0].1, None));
        scene
    }

    fn now_ns(&self) -> u64 {
        self.count.clock.load(Relaxed) / 1000
    }

    fn run(&mut self) {
        while self.worker.turn(&self.count) > 0 || !self.hand.is_quiet() {}
    }

    fn say(&mut self, from: SocketAddr, datagram: &[u8]) -> Vec<(SocketAddr, Vec<u8>)> {
        self.hand.put(from, datagram);
        self.run();
        let mut said = Vec::new();
        self.hand.take(|to, datagram| said.push((to, datagram.to_vec())));
        said
    }

    fn say_unproven(&mut self, datagram: &[u8]) {
        let stranger = SocketAddr::from(([10, 0, 0, 3], 1));
        let said = self.say(stranger, datagram);
        let bytes: usize = said.iter().filter(|(to, _)| *to == stranger).map(|(_, answer)| answer.len()).sum();
        assert!(bytes <= datagram.len(), "{} bytes were answered with {bytes}", datagram.len());
    }

    fn say_as_client(&mut self, mut body: Vec<u8>) {
        self.count.executions.borrow_mut().mark(&mut body);
        let (frame, address) = (self.client.frame(&body), self.client.address);
        for (to, datagram) in self.say(address, &frame) {
            assert_eq!(to, address);
            self.client.read(&datagram);
        }
    }

    fn apply(&mut self, op: &Op) {
        match op {
            Op::Bytes(bytes) => {
                self.say_unproven(bytes);
                if bytes.len() >= 32 {
                    self.say_unproven(&checked(bytes.clone()));
                }
            }
            Op::Header { kind, version, is_this_run, body } => {
                let incarnation = if *is_this_run { self.client.incarnation } else { 7 };
                let header = Header { kind: *kind, version: *version, incarnation, ..self.client.header() };
                self.say_unproven(&header.plain(body));
            }
            Op::Body(body) => self.say_as_client(body.clone()),
            Op::Messages(messages) => {
                let now_ns = self.now_ns();
                let body = messages.iter().flat_map(|message| message.bytes(now_ns)).collect();
                self.say_as_client(body);
            }
            Op::Wait { us } => {
                self.count.clock.fetch_add(u64::from(*us) * 1_000_000, Relaxed);
                self.run();
            }
        }
    }

    fn close(mut self) {
        // Incomplete RPCs time out.
        self.count.clock.fetch_add(1_000_000_000_000, Relaxed);
        for _ in 0..2 * TURNS {
            self.worker.turn(&self.count);
        }
        assert_eq!(self.running.status().read().slots_used, 0);
        self.count.executions.borrow().check();
    }
}
