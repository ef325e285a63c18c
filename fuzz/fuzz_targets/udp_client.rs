//! Any datagrams into a client over a simulated wire: no panic, each call ends once, no reply is
//! longer than allowed, and after enough time nothing is outstanding.
#![no_main]

#[path = "../../runtime/nebula/tests/support/hand_wire.rs"]
#[allow(dead_code)]
mod hand_wire;
#[path = "udp_client/input.rs"]
mod input;
#[path = "../../runtime/nebula/tests/support/udp_raw.rs"]
#[allow(dead_code)]
mod udp_raw;

use hand_wire::{Hand, hand_wire};
use input::{Input, Op};
use libfuzzer_sys::fuzz_target;
use nebula::net::{Environment, Time};
use nebula::{Client, ClientConfig, Options, Span, Ticket};
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use udp_raw::{HELLO, Header, REFUSAL, SERVER, VERSION, WELCOME, checked, opened, secret_of};

const REPLY_BYTES_MAX: u32 = 5000;
const INCARNATION: u64 = 99;
const SNID: u32 = 5;
const TOKEN: u64 = 0x0808_0808_1234_5678;

struct Scene {
    client: Client,
    hand: Hand,
    clock: Arc<AtomicU64>,
    open: BTreeSet<Ticket>,
    server: SocketAddr,
    /// Of the last hello.
    echo: [u8; 8],
}

fuzz_target!(|input: Input| {
    let mut scene = Scene::new(&input);
    for op in &input.ops {
        scene.apply(op);
        scene.take_ends();
    }
    scene.close();
});

impl Scene {
    fn new(input: &Input) -> Self {
        let server = SocketAddr::from(([127, 0, 0, 1], 7400));
        let clock = Arc::new(AtomicU64::new(1_000_000_000_000));
        let (wire, hand) = hand_wire(SocketAddr::from(([127, 0, 0, 1], 9)));
        let environment = Environment { wire: Box::new(wire), time: Time::Manual(clock.clone()), entropy: [3; 32] };
        let config = ClientConfig::default().slots(8).reply_bytes_max(REPLY_BYTES_MAX).transmissions_max(4);
        let config = if input.has_deadline { config.deadline(Span::from_ms(3)) } else { config };
        let config = config.retry(input.retry()).flow(input.flow());
        let client = Client::connect_over(server, environment, config).expect("a client");
        Self { client, hand, clock, open: BTreeSet::new(), server, echo: [0; 8] }
    }

    /// Reads only hellos from the client.
    fn listen(&mut self) {
        self.hand.take(|_, datagram| {
            if datagram[1] == HELLO {
                self.echo.copy_from_slice(&opened(datagram, None, 0).1[..8]);
            }
        });
    }

    fn take_ends(&mut self) {
        while let Some(done) = self.client.poll() {
            assert!(self.open.remove(&done.ticket), "{:?} ended, which is over", done.ticket);
            let bytes = done.result.map_or(0, <[u8]>::len);
            assert!(bytes <= REPLY_BYTES_MAX as usize, "a reply of {bytes} bytes");
        }
        self.listen();
        assert_eq!(self.client.outstanding() as usize, self.open.len());
    }

    fn header(&self, kind: u8) -> Header {
        let word = self.clock.load(Relaxed) / 1000;
        Header { version: VERSION, kind, incarnation: INCARNATION, snid: SNID, datagram_bytes: 9000, word }
    }

    fn apply(&mut self, op: &Op) {
        match op {
            Op::Submit { bytes, deadline_us } => {
                let deadline = deadline_us.map(|us| Span::from_us(us.into()));
                let options = deadline.map_or_else(Options::default, |deadline| Options::default().deadline(deadline));
                if let Ok(ticket) = self.client.submit_with(&vec![1; usize::from(*bytes)], options) {
                    assert!(self.open.insert(ticket), "{ticket:?} is of two calls");
                }
            }
            Op::Cancel { which } => {
                if let Some(&ticket) = self.open.iter().nth(usize::from(*which)) {
                    self.client.cancel(ticket);
                }
            }
            Op::Wait { us } => {
                self.clock.fetch_add(u64::from(*us) * 1_000_000, Relaxed);
            }
            Op::Bytes { is_checked, bytes } => {
                let datagram = if *is_checked && bytes.len() >= 32 { checked(bytes.clone()) } else { bytes.clone() };
                self.hand.put(self.server, &datagram);
            }
            Op::Welcome { mtu, rpc_bytes_max } => {
                let slo = 100_000_000_u64.to_le_bytes();
                let sizes = [rpc_bytes_max.to_le_bytes(), (u32::from(*mtu) * 64).to_le_bytes()].concat();
                // The unscheduled packets: 0 if the server grants none.
                let unscheduled = u64::from(*mtu & 7) << 32;
                let longest = (u64::from(*rpc_bytes_max >> 16) | unscheduled).to_le_bytes();
                let body = [&self.echo[..], &TOKEN.to_le_bytes(), &sizes, &slo, &longest].concat();
                self.hand.put(self.server, &self.header(WELCOME).plain(&body));
            }
            Op::Refusal { reason, is_for_hello } => {
                let echo = if *is_for_hello { self.echo } else { [0; 8] };
                let body = [&u32::from(*reason).to_le_bytes()[..], &[0; 4], &echo].concat();
                let secret = if matches!(reason, 2 | 3) { secret_of(TOKEN) } else { 0 };
                self.hand.put(self.server, &self.header(REFUSAL).plain_with(secret, &body));
            }
            Op::Answers(answers) => {
                let body: Vec<u8> = answers.iter().flat_map(input::Answer::bytes).collect();
                self.hand.put(self.server, &self.header(SERVER).plain_with(secret_of(TOKEN), &body));
            }
        }
    }

    fn close(mut self) {
        for _ in 0..200 {
            self.clock.fetch_add(500_000_000_000, Relaxed);
            self.take_ends();
        }
        assert!(self.open.is_empty(), "{:?} never ended", self.open);
    }
}
