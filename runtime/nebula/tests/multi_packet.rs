//! RPCs of every size: cut into packets and reassembled, around the end of the ring and of the
//! positions.

use crate::support::draw::Draw;
use crate::support::exchange::exchange_by;
use crate::support::{echo, endpoint, open_one, server_config, unhurried_config, wait_until_clean};
use nebula::{CallError, Client, ClientConfig, Fault, Queueing, Reply, Server, ServerConfig, SubmitError};
use nebula_testing::wait::{Watchdog, wait_until};

/// The bytes of a request or reply, in which no two packets are equal.
fn pattern(len: usize, seed: u64) -> Vec<u8> {
    Draw::new(seed).bytes(len)
}

/// Calls until the server accepts the request: it may find no room, or a pause may interrupt it.
fn call(client: &mut Client, request: &[u8]) -> Result<Vec<u8>, CallError> {
    wait_until("an answer", || match client.call(request) {
        Err(CallError::Nack { .. }) => None,
        answer => Some(answer.map(<[u8]>::to_vec)),
    })
}

fn border_sizes(mtu: usize, max: usize) -> impl Iterator<Item = usize> {
    let borders = (0..=max / mtu).flat_map(move |packets| [packets * mtu, packets * mtu + 1, packets * mtu + mtu - 1]);
    borders.filter(move |&bytes| bytes <= max)
}

#[test]
fn echoes_of_every_size_around_the_packets_come_back_whole() {
    let _watchdog = Watchdog::new("echoes of every size");
    for (mtu, inline) in [(64, true), (576, false), (1024, true), (65_536, false)] {
        let name = endpoint(&format!("sizes-{mtu}"));
        let config = server_config(|config| (config.mtu_bytes, config.inline) = (mtu, Some(inline)));
        let server = Server::bind(&name).config(config).serve(echo).expect("a server");
        let max = 65_536;
        let config = ClientConfig::default().slots(2048).reply_bytes_max(max);
        let mut client = Client::connect_with(&name, config).expect("a connection");
        for bytes in border_sizes(mtu as usize, max as usize) {
            let request = pattern(bytes, u64::from(mtu));
            assert!(call(&mut client, &request).expect("an echo") == request, "{bytes} bytes in packets of {mtu}");
        }
        drop(client);
        let status = wait_until_clean(server.status(), 0);
        assert_eq!((status.violations, status.dropped), (0, 0));
        server.stop();
    }
}

/// Replies with the size in the request's first four bytes and the pattern of its next eight.
fn of_asked_size(request: &[u8], reply: &mut Reply<'_>) {
    let Some((bytes, seed)) = asked(request) else { return };
    reply.write(&pattern(bytes, seed));
}

fn asked(request: &[u8]) -> Option<(usize, u64)> {
    let (bytes, rest) = request.split_first_chunk::<4>()?;
    Some((u32::from_le_bytes(*bytes) as usize, u64::from_le_bytes(*rest.first_chunk::<8>()?)))
}

fn ask(bytes: usize, seed: u64, padding: usize) -> Vec<u8> {
    let mut request = u32::try_from(bytes).expect("a size").to_le_bytes().to_vec();
    request.extend(seed.to_le_bytes());
    request.resize(12 + padding, 0xA5);
    request
}

#[test]
fn replies_of_another_size_than_their_requests_come_back_whole() {
    let _watchdog = Watchdog::new("replies of another size");
    let name = endpoint("asked");
    let server = Server::bind(&name).inline(false).serve(of_asked_size).expect("a server");
    let config = ClientConfig::default().reply_bytes_max(65_536);
    let mut client = Client::connect_with(&name, config).expect("a connection");
    for (seed, bytes) in border_sizes(576, 65_536).enumerate() {
        let padding = [0, 576, 65_536 - 12 - bytes, 5][seed % 4].min(65_536 - 12);
        let reply = call(&mut client, &ask(bytes, seed as u64, padding)).expect("a reply");
        assert!(reply == pattern(bytes, seed as u64), "a reply of {bytes} bytes to a request of {}", 12 + padding);
    }
    assert_eq!(call(&mut client, b"").expect("nothing for nothing"), b"");
    server.stop();
}

#[test]
fn a_mebibyte_goes_there_and_back() {
    let _watchdog = Watchdog::new("a mebibyte");
    let name = endpoint("mebibyte");
    let max = 1 << 20;
    let config = server_config(|config| (config.mtu_bytes, config.rpc_bytes_max) = (4096, max));
    let server = Server::bind(&name).config(config).serve(echo).expect("a server");
    let config = ClientConfig::default().slots(512).reply_bytes_max(max);
    let mut client = Client::connect_with(&name, config).expect("a connection");
    let max = max as usize;
    for bytes in [max, max - 1, max - 4096, max - 4095, max - 4097, max / 2, 1, 0, max] {
        let request = pattern(bytes, 7);
        assert!(call(&mut client, &request).expect("an echo") == request, "{bytes} bytes");
    }
    let too_large = client.submit(&vec![0; max + 1]);
    assert_eq!(too_large, Err(SubmitError::TooLarge { bytes: max + 1, max: 1 << 20 }));
    server.stop();
}

#[test]
fn a_reply_without_room_is_a_fault_and_the_next_one_arrives() {
    let _watchdog = Watchdog::new("a reply without room");
    let name = endpoint("no-room");
    let server = Server::bind(&name).inline(false).serve(of_asked_size).expect("a server");
    // The room is what was asked for, whatever its slots could carry.
    for room in [0, 8, 100, 575, 576, 577, 1152, 4000] {
        let config = ClientConfig::default().reply_bytes_max(room);
        let mut client = Client::connect_with(&name, config).expect("a connection");
        let room = room as usize;
        for (bytes, padding) in [(room, 0), (room, 2000), (room + 1, 0), (room + 1, 2000), (room + 600, 0), (60_000, 9)]
        {
            let answer = call(&mut client, &ask(bytes, 3, padding));
            let expected =
                if bytes > room { Err(CallError::Fault(Fault::ReplyTooLarge)) } else { Ok(pattern(bytes, 3)) };
            assert_eq!(answer, expected, "a reply of {bytes} in a room of {room}, request of {}", 12 + padding);
            assert_eq!(call(&mut client, &ask(room.min(7), 4, 0)).expect("fits"), pattern(room.min(7), 4));
        }
    }
    server.stop();
}

#[test]
fn a_request_that_can_never_be_sent_is_too_large_at_once() {
    let _watchdog = Watchdog::new("a request too large");
    let name = endpoint("too-large");
    let config = unhurried_config(|config| config.rpc_bytes_max = 10_000);
    let server = Server::bind(&name).config(config).serve(echo).expect("a server");
    let mut client = Client::connect(&name).expect("a connection");
    let refused = client.submit(&[0; 10_001]);
    assert_eq!(refused, Err(SubmitError::TooLarge { bytes: 10_001, max: 10_000 }));
    assert_eq!(client.outstanding(), 0, "what was not sent is not outstanding");
    assert!(matches!(client.call(&[0; 10_001]), Err(CallError::NotSent(SubmitError::TooLarge { .. }))));

    let mut small = Client::connect_with(&name, ClientConfig::default().slots(4)).expect("a connection");
    let refused = small.submit(&[0; 4 * 624 + 1]);
    assert_eq!(refused, Err(SubmitError::TooLarge { bytes: 4 * 624 + 1, max: 4 * 624 }), "four slots hold no more");
    assert_eq!(small.rpc_bytes_max(), 4 * 624);
    let whole_ring = [7; 4 * 624];
    assert_eq!(small.call(&whole_ring), Ok(&whole_ring[..]), "an echo has its request's room by default");
    server.stop();
}

/// Keeps the ring full of echoes of random sizes and checks each; `turn` runs the server.
fn stream(client: &mut Client, rpcs: usize, draw: &mut Draw, bytes_max: usize, turn: impl FnMut()) -> u64 {
    let mut nacked = 0;
    let request = |_| {
        let bytes = draw.below(bytes_max + 1);
        draw.bytes(bytes)
    };
    let check = |request: &[u8], end: Result<&[u8], CallError>| match end {
        Ok(reply) => assert!(reply == request, "another's reply, or a torn one"),
        Err(CallError::Nack { .. }) => nacked += 1,
        Err(error) => panic!("{error}"),
    };
    exchange_by(client, rpcs, usize::MAX, request, check, turn);
    nacked
}

/// Streams through a server driven by the client's thread, so that neither waits to be scheduled.
fn stream_by_hand(config: ServerConfig, slots: u32, reply_bytes_max: u32, rpcs: usize, bytes_max: usize) -> u64 {
    let name = endpoint(&format!("by-hand-{slots}"));
    let (server, mut worker) = open_one(&name, config.inline(true));
    let config = ClientConfig::default().slots(slots).reply_bytes_max(reply_bytes_max);
    let mut client = Client::connect_with(&name, config).expect("a connection");
    let mut turn = || {
        worker.turn(&echo);
    };
    let nacked = stream(&mut client, rpcs, &mut Draw::new(3), bytes_max, &mut turn);
    drop(client);
    wait_until("the end of the client", || {
        turn();
        (server.status().read().clients == 0).then_some(())
    });
    let status = wait_until_clean(server.status(), 0);
    assert_eq!((status.violations, status.dropped), (0, 0));
    server.stop();
    nacked
}

/// The queue is long enough for any machine.
fn unbounded(mtu_bytes: u32) -> ServerConfig {
    server_config(|config| {
        config.mtu_bytes = mtu_bytes;
        config.queueing = Queueing::Unbounded { recv_buffer_bytes: 1 << 20 };
    })
}

#[test]
fn mixed_spans_go_round_a_small_ring_ten_thousand_times() {
    let _watchdog = Watchdog::new("mixed spans");
    assert_eq!(stream_by_hand(unbounded(128), 16, 600, 50_000, 600), 0, "all of them sent before the server looks");
}

#[test]
fn mixed_spans_go_round_a_small_ring_of_a_server_on_other_threads() {
    let _watchdog = Watchdog::new("mixed spans on threads");
    let name = endpoint("wrap");
    let server = Server::bind(&name).config(unbounded(128)).serve(echo).expect("a server");
    let config = ClientConfig::default().slots(16).reply_bytes_max(600);
    let mut client = Client::connect_with(&name, config).expect("a connection");
    let rpcs = 5_000;
    // The server abandons an RPC of several packets if this thread pauses inside it.
    let nacked = stream(&mut client, rpcs, &mut Draw::new(2), 600, || ());
    drop(client);
    let status = wait_until_clean(server.status(), 0);
    assert_eq!((status.violations, status.dropped, status.nacked(), status.abandoned), (0, 0, 0, nacked));
    server.stop();
}

#[test]
fn without_room_for_a_reply_there_is_a_fault() {
    let _watchdog = Watchdog::new("without room for a reply");
    let name = endpoint("tight");
    let server = Server::bind(&name).inline(false).serve(echo).expect("a server");
    let mut tight = Client::connect_with(&name, ClientConfig::default().reply_bytes_max(0)).expect("a connection");
    assert_eq!(tight.call(b"no room"), Err(CallError::Fault(Fault::ReplyTooLarge)));
    assert_eq!(tight.call(b"").expect("nothing needs no room"), b"");
    server.stop();
}

#[test]
fn positions_go_on_past_the_largest() {
    let _watchdog = Watchdog::new("positions past the largest");
    // Each RPC spans as many slots as possible, so that a million of them wrap a 32-bit position.
    let span = 4095;
    let rpcs = (1 << 32) / span as usize + 1000;
    assert_eq!(stream_by_hand(unbounded(64), 65_536, span * 64, rpcs, 64), 0);
}
