//! Replies that would not fit: if the server states its longest reply, a client with less room
//! learns it on connecting, and no handler runs for nothing.

use crate::support;

use crate::support::hand_wire::{Hand, hand_wire};
use crate::support::raw::RawRing;
use crate::support::udp_raw::{HELLO, Header, VERSION, WELCOME, opened};
use crate::support::{echo, endpoint, endpoints, server_config, unhurried};
use nebula::net::{Environment, Time};
use nebula::{
    CallError, Client, ClientConfig, ConnectError, Fault, Reply, RunningServer, ServeError, Server, ServerConfig,
    SubmitError,
};
use nebula_testing::wait::Watchdog;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const LONGEST: u32 = 3000;

/// A server that states its longest reply, sends such replies, and counts its handler's runs.
fn serve(endpoint: &str) -> (RunningServer, Arc<AtomicU32>) {
    let runs = Arc::new(AtomicU32::new(0));
    let counted = runs.clone();
    let longest = move |_: &[u8], reply: &mut Reply<'_>| {
        counted.fetch_add(1, Ordering::Relaxed);
        reply.write(&[7; LONGEST as usize]);
    };
    let config = server_config(|config| config.reply_bytes_max = Some(LONGEST));
    let server = Server::bind(endpoint).config(config).serve(longest).expect("a server");
    (server, runs)
}

#[test]
fn a_client_with_less_room_is_refused_as_it_connects_and_no_handler_runs() {
    let _watchdog = Watchdog::new("a client with less room");
    for endpoint in endpoints("less-room") {
        let (server, runs) = serve(&endpoint);
        for room in [0, 1, 576, LONGEST - 1] {
            let refused = Client::connect_with(server.endpoint(), ClientConfig::default().reply_bytes_max(room));
            let error = refused.map(drop).expect_err("too little room");
            let is_room = matches!(error, ConnectError::ReplyRoom { server: LONGEST, client } if client == room);
            assert!(is_room && error.to_string().contains("reply_bytes_max to 3000"), "{room}: {error}");
        }
        assert_eq!(runs.load(Ordering::Relaxed), 0, "{endpoint}");
        server.stop();
    }
}

#[test]
fn a_client_that_sets_no_room_has_what_the_server_says() {
    let _watchdog = Watchdog::new("the room that the server says");
    for endpoint in endpoints("said-room") {
        let (server, runs) = serve(&endpoint);
        for config in [ClientConfig::default(), ClientConfig::default().reply_bytes_max(LONGEST)] {
            let mut client = Client::connect_with(server.endpoint(), config).expect("enough room");
            assert_eq!(client.reply_bytes_max(), Some(LONGEST));
            assert_eq!(client.call(b"").expect("a reply"), [7; LONGEST as usize]);
        }
        assert_eq!(runs.load(Ordering::Relaxed), 2, "{endpoint}");
        server.stop();
    }
}

#[test]
fn a_ring_too_small_for_the_longest_reply_is_refused_as_the_client_connects() {
    let _watchdog = Watchdog::new("a ring too small");
    let (server, runs) = serve(&endpoint("small-ring"));
    let refused = Client::connect_with(server.endpoint(), ClientConfig::default().slots(4)).map(drop);
    assert!(matches!(refused, Err(ConnectError::ReplyTooLarge { bytes: LONGEST, slots: 4 })), "{refused:?}");
    assert_eq!(runs.load(Ordering::Relaxed), 0);
    server.stop();
}

#[test]
fn a_server_that_does_not_say_takes_every_client_and_a_reply_without_room_is_a_fault() {
    let _watchdog = Watchdog::new("a server that does not say");
    for endpoint in endpoints("unsaid-room") {
        let server = Server::bind(&endpoint).inline(false).serve(echo).expect("a server");
        let config = ClientConfig::default().reply_bytes_max(8);
        let mut client = Client::connect_with(server.endpoint(), config).expect("any room will do");
        assert_eq!(client.reply_bytes_max(), None);
        assert_eq!(client.call(b"9 bytes..").map(<[u8]>::len), Err(CallError::Fault(Fault::ReplyTooLarge)));
        assert_eq!(client.call(b"8 bytes.").expect("an echo"), b"8 bytes.");
        server.stop();
    }
}

#[test]
fn an_echo_of_any_length_fits_if_neither_side_says_how_long_replies_are() {
    let _watchdog = Watchdog::new("an echo of any length");
    for endpoint in endpoints("echo-room") {
        let server = Server::bind(&endpoint).config(unhurried(ServerConfig::default())).serve(echo).expect("a server");
        let timed = ClientConfig::default().deadline(support::PATIENCE);
        for config in [ClientConfig::default(), timed] {
            let mut client = Client::connect_with(server.endpoint(), config).expect("a client");
            for bytes in [0, 48, 624, 625, 1024, 4096, 60_000, 1] {
                let request = vec![5; bytes];
                assert!(client.call(&request) == Ok(&request), "{endpoint}: {bytes} bytes");
            }
        }
        server.stop();
    }
}

#[test]
fn the_longest_reply_stands_where_the_protocol_says() {
    let (server, _) = serve(&endpoint("reply-room-raw"));
    let name = server.endpoint().to_string();
    assert_eq!(RawRing::connect(&name, 16).reply_bytes_max, LONGEST);
    server.stop();
    let unsaid = Server::bind(&name).inline(false).serve(echo).expect("a server");
    assert_eq!(RawRing::connect(&name, 16).reply_bytes_max, 0);
    unsaid.stop();
    let mut scene = support::by_hand::ByHand::open(|config| config.reply_bytes_max = Some(LONGEST));
    assert_eq!(scene.welcome().reply_bytes_max, LONGEST);
    assert_eq!(support::by_hand::ByHand::open(|_| ()).welcome().reply_bytes_max, 0);
}

#[test]
fn replies_that_no_slots_can_carry_are_refused_when_serving() {
    for endpoint in endpoints("endless-replies") {
        let refused = Server::bind(&endpoint).reply_bytes_max(u32::MAX).serve(echo).map(drop);
        assert!(matches!(refused, Err(ServeError::ReplyTooLarge { got: u32::MAX, .. })), "{refused:?}");
    }
}

/// A client over the test's network with room for 2,000 bytes, and its server's end.
struct Net {
    client: Client,
    hand: Hand,
    server: SocketAddr,
    clock: Arc<AtomicU64>,
}

impl Net {
    fn new() -> Self {
        let server = SocketAddr::from(([127, 0, 0, 1], 7400));
        let clock = Arc::new(AtomicU64::new(1_000_000_000_000));
        let (wire, hand) = hand_wire(SocketAddr::from(([127, 0, 0, 1], 9)));
        let environment = Environment { wire: Box::new(wire), time: Time::Manual(clock.clone()), entropy: [3; 32] };
        let config = ClientConfig::default().reply_bytes_max(2000);
        let client = Client::connect_over(server, environment, config).expect("a client");
        Self { client, hand, server, clock }
    }

    /// Welcomes the client, whose hello is due, as a server with replies of up to `reply_bytes_max`
    /// bytes.
    fn welcome(&mut self, reply_bytes_max: u32) {
        assert!(self.client.poll().is_none());
        let mut echo = None;
        self.hand.take(|_, datagram| {
            if datagram[1] == HELLO {
                echo = Some(opened(datagram, None, 0).1[..8].to_vec());
            }
        });
        let header = Header {
            version: VERSION,
            kind: WELCOME,
            incarnation: 99,
            snid: 5,
            datagram_bytes: 9000,
            word: self.clock.load(Ordering::Relaxed) / 1000,
        };
        let sizes = [4096, 1088_u32].map(u32::to_le_bytes).concat();
        let slo = 100_000_000_u64.to_le_bytes();
        let longest = u64::from(reply_bytes_max).to_le_bytes();
        let body = [&echo.expect("a hello")[..], &[8; 8], &sizes, &slo, &longest].concat();
        self.hand.put(self.server, &header.plain(&body));
    }
}

#[test]
fn what_was_submitted_before_the_welcome_is_not_sent_to_a_server_of_longer_replies() {
    let refusal = SubmitError::ReplyRoom { server: LONGEST, client: 2000 };
    for (reply_bytes_max, is_refused) in [(LONGEST, true), (2000, false), (0, false)] {
        let mut net = Net::new();
        assert_eq!(net.client.reply_bytes_max(), None, "nobody has answered");
        net.client.submit(b"early").expect("it waits for the welcome");
        net.welcome(reply_bytes_max);
        let end = net.client.poll().map(|done| done.result.map(<[u8]>::len));
        assert_eq!(end, is_refused.then_some(Err(CallError::NotSent(refusal.clone()))));
        assert_eq!(net.client.submit(b"").err(), is_refused.then_some(refusal.clone()));
        let mut sent = 0;
        net.hand.take(|_, _| sent += 1);
        assert_eq!(sent == 0, is_refused, "{sent} datagrams");
    }
}
