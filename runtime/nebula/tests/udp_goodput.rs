//! The cost of lost datagrams to a client over UDP, on an in-memory network with a clock moved by
//! hand: the same on every machine.

use crate::support::draw::Draw;
use crate::support::message::Message;
use crate::support::scene::{Scene, server};
use crate::support::udp_raw::MTU;
use nebula::ClientConfig;
use std::collections::VecDeque;

/// Time of each direction.
const WAY_NS: u64 = 5_000;
/// The server's time per datagram, and per RPC in it.
const DATAGRAM_NS: u64 = 3_000;
const RPC_NS: u64 = 300;
const RUN_NS: u64 = 30_000_000;
/// A request and its header; a reply is no longer.
const MESSAGE_BYTES: usize = 96;

/// Datagrams in flight, each with its arrival time.
type Way = VecDeque<(u64, Vec<u8>)>;

fn come(way: &mut Way, now_ns: u64) -> Option<(u64, Vec<u8>)> {
    way.front().is_some_and(|(due, _)| *due <= now_ns).then(|| way.pop_front())?
}

/// Echoes of 64 B in 0.03 s with 64 outstanding, if `lost` of 1,000 datagrams each way are lost.
fn echoes(lost: usize, datagram_bytes: usize) -> u64 {
    let mut draw = Draw::new(1);
    let mut scene = Scene::new_over(ClientConfig::default(), datagram_bytes);
    let (mut to_server, mut to_client) = (Way::new(), Way::new());
    let (mut now_ns, mut free_ns, mut done) = (0_u64, 0_u64, 0);
    while now_ns < RUN_NS {
        while scene.client.outstanding() < 64 && scene.client.submit(&[7; 64]).is_ok() {}
        while let Some((_, result)) = scene.end() {
            assert_eq!(result, Ok(vec![7; 64]));
            done += 1;
        }
        for (_, body) in scene.datagrams() {
            if draw.below(1000) >= lost {
                to_server.push_back((now_ns + WAY_NS, body));
            }
        }
        while let Some((_, body)) = come(&mut to_server, now_ns) {
            let requests = Message::read_all(&body);
            free_ns = free_ns.max(now_ns) + DATAGRAM_NS + requests.len() as u64 * RPC_NS;
            let replies: Vec<_> = requests.iter().map(|it| Message::reply(it.tid, &it.payload, 0, MTU)).collect();
            for replies in replies.chunks((datagram_bytes - 32) / MESSAGE_BYTES) {
                if draw.below(1000) >= lost {
                    to_client.push_back((free_ns + WAY_NS, scene.frame(replies)));
                }
            }
        }
        while let Some((_, datagram)) = come(&mut to_client, now_ns) {
            scene.deliver(server(), datagram);
        }
        now_ns += 1000;
        scene.pass_us(1);
    }
    done
}

#[test]
fn one_datagram_lost_in_a_hundred_each_way_costs_less_than_a_tenth() {
    // Datagrams of a few RPCs each, and of all outstanding ones.
    for datagram_bytes in [1232, 16_384] {
        let (whole, lossy) = (echoes(0, datagram_bytes), echoes(10, datagram_bytes));
        assert!(lossy * 10 >= whole * 9, "{lossy} echoes of {whole} with datagrams of {datagram_bytes} B");
    }
}

#[test]
fn heavy_loss_ends_no_call_without_its_reply() {
    assert!(echoes(200, 1232) > 300, "one datagram in five is lost each way");
}
