//! The shares of key owners, by weight, at an overloaded UDP server with a clock moved by hand.

use crate::support::by_hand::ByHand;
use crate::support::udp_raw::{Answer, Packet, RawClient};
use nebula::{IdlePolicy, Key, Keys, ServeError, Server, ServerConfig, Span, Tenant};

const ANN: [u8; 32] = [1; 32];
const BOB: [u8; 32] = [2; 32];
const CID: [u8; 32] = [3; 32];
const SERVICE_NS: u64 = 2000;
/// Requests per datagram: few compared with the queue, or a datagram's rest would find no room.
const PACKED: u32 = 8;
const RUN_NS: u64 = 15_000_000;

fn keys() -> Keys {
    let line = |name: &str, key| format!("{name} {}\n", Key::new(key).to_hex());
    [line("ann", ANN), line("bob", BOB), line("cid", CID)].concat().parse().expect("keys")
}

fn tenants(texts: &[&str]) -> Vec<Tenant> {
    texts.iter().map(|text| text.parse().expect("a tenant")).collect()
}

/// Replies per thousand to one client each of ann, bob and cid. All ask for several times the
/// capacity, the first for most, and ignore NACKs.
fn replies(weights: &[&str]) -> [u64; 3] {
    let mut server = ByHand::open(|config| {
        (config.slo, config.service_mean) = (Span::from_us(200), Span::from_ns(SERVICE_NS));
        (config.retention_rpcs, config.idle) = (65_536, IdlePolicy::Spin);
        (config.keys, config.tenants) = (keys(), tenants(weights));
    });
    let mut clients = [ANN, BOB, CID].map(|key| server.client_with(key));
    server.account.is_plain.set(true);
    server.account.service_ns.set(SERVICE_NS);
    let (mut replied, mut tid, mut stamp_ns, mut sent) = ([0; 3], 0, 0, 0);
    let (start, mut is_counted) = (server.now_ns(), false);
    while server.now_ns() - start < RUN_NS {
        // A datagram of 8 every 4 us is four times the capacity. Half of them belong to the first
        // client.
        while sent * 4_000 < server.now_ns() - start {
            let which = [0, 1, 0, 2][usize::try_from(sent % 4).expect("small")];
            sent += 1;
            let messages: Vec<u8> = (0..PACKED)
                .flat_map(|_| {
                    (tid, stamp_ns) = (tid + 1, server.now_ns().max(stamp_ns + 1));
                    Packet::whole(tid, stamp_ns, &[7; 16]).bytes()
                })
                .collect();
            let datagram = clients[which].frame(&messages);
            server.hand.put(clients[which].address, &datagram);
        }
        let before = server.now_ns();
        server.worker.turn(&server.account);
        if server.now_ns() == before {
            server.advance_us(1);
        }
        if !is_counted && server.now_ns() - start > RUN_NS / 3 {
            (is_counted, replied) = (true, [0; 3]);
        }
        count(&server, &clients, &mut replied);
    }
    let all: u64 = replied.iter().sum();
    replied.map(|replies| replies * 1000 / all)
}

fn count(server: &ByHand, clients: &[RawClient; 3], replied: &mut [u64; 3]) {
    let mut said = Vec::new();
    server.hand.take(|to, datagram| said.push((to, datagram.to_vec())));
    for (to, datagram) in said {
        let which = clients.iter().position(|client| client.address == to).expect("one of them");
        let answers = clients[which].read(&datagram);
        replied[which] += answers.iter().filter(|answer| matches!(answer, Answer::Reply { .. })).count() as u64;
    }
}

#[test]
fn owners_of_keys_get_what_they_weigh() {
    for (weights, due) in [
        (&["ann=1", "bob=3", "cid=1"][..], [200, 600, 200]),
        (&["bob=3", "*=1"], [125, 750, 125]),
        (&["cid=2", "*=2"], [250, 250, 500]),
    ] {
        let got = replies(weights);
        // Chance decides which datagrams pass.
        let is_due = got.iter().zip(due).all(|(got, due)| got.abs_diff(due) <= 60);
        assert!(is_due, "{weights:?}: {got:?} of a thousand, and not {due:?}");
    }
}

#[test]
fn tenants_need_keys_and_are_in_the_decision_log() {
    let path = std::env::temp_dir().join(format!("nebula-tenants-{}", std::process::id()));
    let config = ServerConfig::default().inline(false).tenants(tenants(&["ann=3", "bob=2"]));
    let refused = Server::bind("udp://127.0.0.1:0").config(config.clone()).serve(crate::support::echo);
    assert!(matches!(refused, Err(ServeError::TenantsWithoutKeys)));
    let config = config.keys(keys()).decision_log(&path);
    Server::bind("udp://127.0.0.1:0").config(config).serve(crate::support::echo).expect("a server").stop();
    let log = std::fs::read_to_string(&path).expect("a log");
    std::fs::remove_file(&path).expect("it is there");
    assert!(log.lines().next().is_some_and(|line| line.ends_with(" tenants=28+1,3,2")), "{log}");
}
