//! Nodes: the papers' calls with a domain each, a buffer freed before the reply is sent, and a
//! thread that is both client and server.

use crate::support::patient_client;
use crate::support::{endpoint, endpoints};
use nebula::{
    CallError, Client, Fault, LaterError, LaterReply, Node, NodeError, Peer, Policy, Received, Server, Target, Ticket,
};
use nebula_testing::wait::{Watchdog, wait_until};
use std::thread::JoinHandle;

const DOMAIN: u8 = 5;
const OTHER: u8 = 6;

/// A node that serves the domain and gives its core one RPC at a time, and its endpoint.
fn node(at: &str) -> (Node, nebula::Endpoint) {
    let mut node = Node::default();
    let server = node.host(DOMAIN, Server::bind(at).policy(Policy::SingleQueue)).expect("a server");
    let endpoint = server.endpoint().clone();
    (node, endpoint)
}

fn asking(at: nebula::Endpoint, requests: &'static [&'static str]) -> JoinHandle<Vec<Result<String, CallError>>> {
    std::thread::spawn(move || {
        let mut client = Client::connect_with(at, patient_client().domain(DOMAIN)).expect("a client");
        let tickets: Vec<_> = requests.iter().map(|request| client.submit(request.as_bytes()).expect("room")).collect();
        client.flush();
        let mut ends = vec![None; requests.len()];
        wait_until("all ends", || {
            while let Some(done) = client.poll() {
                let at = tickets.iter().position(|&ticket| ticket == done.ticket).expect("its ticket");
                let end = done.result.map(|reply| String::from_utf8_lossy(reply).into_owned());
                assert!(ends[at].replace(end).is_none(), "ended twice");
            }
            ends.iter().all(Option::is_some).then_some(())
        });
        ends.into_iter().flatten().collect()
    })
}

/// Waits for a request and frees it; the request and its reply.
fn freed(node: &mut Node) -> (String, LaterReply) {
    let received = node.wait_for_rpc(DOMAIN).expect("a request");
    let Received::Request(rpc) = received else { panic!("{received:?}") };
    let request = String::from_utf8_lossy(rpc.payload()).into_owned();
    (request, rpc.free().expect("it was not answered"))
}

#[test]
fn buffer_and_credit_are_free_before_the_reply_is_sent() {
    let _watchdog = Watchdog::new("free before send");
    for at in endpoints("node-free") {
        let (mut node, at) = node(&at);
        let asking = asking(at, &["one", "two", "three"]);
        // The core has one RPC at a time: without the free it would not see the second one.
        let callers: Vec<_> = (0..3).map(|_| freed(&mut node)).collect();
        wait_until("no slot is taken", || {
            assert!(node.try_wait_for_rpc(DOMAIN).expect("it runs").is_none());
            let status = node.server(DOMAIN).expect("its server").status().read();
            (status.freed == 3 && status.slots_used == 0).then_some(())
        });
        // Replies in reverse order, by the node or by another thread.
        for (number, (request, caller)) in callers.into_iter().enumerate().rev() {
            let reply = format!("{request} {}", "long ".repeat(number * 40));
            match number {
                0 => caller.answer(reply.as_bytes()),
                _ => assert_eq!(node.rpc_send(reply.as_bytes(), caller, DOMAIN).expect("sent"), None),
            }
        }
        wait_until("its end", || {
            assert!(node.try_wait_for_rpc(DOMAIN).expect("it runs").is_none());
            asking.is_finished().then_some(())
        });
        let ends = asking.join().expect("no panic");
        let [one, two, three] = &ends[..] else { panic!("{ends:?}") };
        assert_eq!(one.as_deref(), Ok("one "));
        assert_eq!(two.as_deref(), Ok(&*format!("two {}", "long ".repeat(40))));
        assert_eq!(three.as_deref(), Ok(&*format!("three {}", "long ".repeat(80))));
    }
}

#[test]
fn who_is_not_answered_learns_it() {
    let _watchdog = Watchdog::new("a node that does not answer");
    for at in endpoints("node-unanswered") {
        let (mut node, at) = node(&at);
        let asking = asking(at, &["dropped", "at the end"]);
        drop(freed(&mut node));
        let (_, kept) = freed(&mut node);
        let stop = node.server(DOMAIN).expect("its server").stopper();
        stop.stop();
        assert!(matches!(node.wait_for_rpc(DOMAIN), Err(NodeError::Stopped { domain: DOMAIN })));
        // It is too late.
        node.rpc_send(b"late", kept, DOMAIN).expect("a domain of the node");
        assert_eq!(asking.join().expect("no panic"), vec![Err(CallError::Fault(Fault::Unanswered)); 2]);
    }
}

/// Counts down: each node asks the other and answers once it has the answer.
fn count_down(node: &mut Node, peer: Peer) -> NodeError {
    let mut asked: Vec<(Ticket, LaterReply, u8)> = Vec::new();
    loop {
        let mut caller = None;
        let (payload, target): (Vec<u8>, Target) = match node.wait_for_rpc(DOMAIN) {
            Ok(Received::Request(mut rpc)) if rpc.payload() == [0] => {
                rpc.rpc_send(b"0");
                continue;
            }
            Ok(Received::Request(rpc)) => {
                let number = rpc.payload()[0];
                caller = Some((rpc.free().expect("it was not answered"), number));
                (vec![number - 1], peer.into())
            }
            Ok(Received::Reply { peer: from, ticket, result }) => {
                assert_eq!(from, peer);
                let at = asked.iter().position(|(other, ..)| *other == ticket).expect("its ticket");
                let (_, caller, number) = asked.swap_remove(at);
                ([format!("{number} ").as_bytes(), result.expect("a reply")].concat(), caller.into())
            }
            Err(stopped) => return stopped,
        };
        let ticket = node.rpc_send(&payload, target, DOMAIN).expect("sent");
        assert_eq!(ticket.is_some(), caller.is_some(), "a request has a ticket");
        asked.extend(ticket.zip(caller).map(|(ticket, (caller, number))| (ticket, caller, number)));
    }
}

#[test]
fn nodes_of_a_domain_are_clients_and_servers_of_each_other() {
    let _watchdog = Watchdog::new("nodes of a domain");
    let ((mut one, one_at), (mut other, other_at)) = (node(&endpoint("node-one")), node(&endpoint("node-other")));
    let other_peer = one.connect(DOMAIN, other_at, patient_client()).expect("a peer");
    let one_peer = other.connect(DOMAIN, one_at.clone(), patient_client()).expect("a peer");
    let stops = [&one, &other].map(|node| node.server(DOMAIN).expect("its server").stopper());
    let serving = [(one, other_peer), (other, one_peer)]
        .map(|(mut node, peer)| std::thread::spawn(move || count_down(&mut node, peer)));
    let mut client = Client::connect_with(one_at, patient_client().domain(DOMAIN)).expect("a client");
    for _ in 0..20 {
        assert_eq!(client.call(&[5]), Ok(&b"5 4 3 2 1 0"[..]));
    }
    stops.iter().for_each(|stop| stop.stop());
    for node in serving {
        assert!(matches!(node.join().expect("no panic"), NodeError::Stopped { domain: DOMAIN }));
    }
}

#[test]
fn domains_of_a_node_are_apart_and_go_on_while_it_waits_in_one() {
    let _watchdog = Watchdog::new("domains of a node");
    let (mut node, at) = node(&endpoint("node-apart"));
    let other = node.host(OTHER, Server::bind("udp://127.0.0.1:0")).expect("a server").endpoint().clone();
    let mistake = node.host(OTHER, Server::bind("udp://127.0.0.1:0")).expect_err("one endpoint in a domain");
    assert!(matches!(mistake, NodeError::Hosted { domain: OTHER }), "{mistake}");
    // The node answers the handshake while it waits in the first domain.
    let connecting = std::thread::spawn(move || {
        let client = Client::connect_with(other, patient_client().domain(OTHER)).expect("a client");
        let mut first = Client::connect_with(at, patient_client().domain(DOMAIN)).expect("a client");
        assert_eq!(first.call(b"now"), Ok(&b"NOW"[..]));
        client
    });
    let (request, caller) = freed(&mut node);
    node.rpc_send(request.to_uppercase().as_bytes(), caller, DOMAIN).expect("sent");
    let mut client = connecting.join().expect("no panic");
    client.submit(b"in the other one").expect("room");
    client.flush();
    let request = wait_until("the request", || {
        assert!(node.try_wait_for_rpc(DOMAIN).expect("it runs").is_none(), "that is another domain's");
        match node.try_wait_for_rpc(OTHER).expect("it runs")? {
            Received::Request(rpc) => Some(rpc.payload().to_vec()),
            reply @ Received::Reply { .. } => panic!("{reply:?}"),
        }
    });
    assert_eq!(request, b"in the other one");
}

#[test]
fn mistakes_are_named() {
    let _watchdog = Watchdog::new("mistakes with nodes");
    let (mut server, at) = node(&endpoint("node-mistakes"));
    let mut node = Node::default();
    let peer = node.connect(DOMAIN, at, patient_client()).expect("a peer");
    assert!(matches!(node.wait_for_rpc(OTHER), Err(NodeError::NoDomain { domain: OTHER })));
    assert!(matches!(node.wait_for_rpc(DOMAIN), Err(NodeError::NothingToWaitFor { domain: DOMAIN })));
    assert!(node.try_wait_for_rpc(DOMAIN).expect("nothing").is_none());
    node.host(OTHER, Server::bind(&endpoint("node-mistakes-other"))).expect("a server");
    let mistake = node.rpc_send(b"x", peer, OTHER).expect_err("of another domain");
    assert!(matches!(mistake, NodeError::OtherDomain { domain: OTHER, peer: DOMAIN }), "{mistake}");
    node.rpc_send(b"x", peer, DOMAIN).expect("sent");
    let Ok(Received::Request(mut rpc)) = server.wait_for_rpc(DOMAIN) else { panic!("a request") };
    rpc.rpc_send(b"y");
    // Its buffer is free, and no reply is left to send.
    assert_eq!(rpc.free().expect_err("it was answered"), LaterError::Taken);
    let Ok(Received::Reply { result, .. }) = node.wait_for_rpc(DOMAIN) else { panic!("a reply") };
    assert_eq!(result, Ok(&b"y"[..]));
}

#[test]
fn a_worker_with_its_engine_elsewhere_frees_before_it_sends() {
    let _watchdog = Watchdog::new("free at a worker");
    for at in endpoints("node-worker") {
        let server = Server::bind(&at).config(nebula::ServerConfig::default().inline(false).domain(DOMAIN));
        let (server, mut workers) = server.open().expect("a server");
        let worker = workers.pop().expect("a worker");
        let asking = asking(server.endpoint().clone(), &["one", "two"]);
        let mut callers = Vec::new();
        while callers.len() < 2 {
            let rpc = worker.wait_for_rpc().expect("a request");
            callers.push((rpc.payload().to_vec(), rpc.free().expect("it was not answered")));
        }
        callers.into_iter().rev().for_each(|(request, caller)| worker.send(caller, &request));
        let ends = asking.join().expect("no panic");
        assert_eq!(ends, [Ok("one".to_owned()), Ok("two".to_owned())]);
        wait_until("both freed", || (server.status().read().freed == 2).then_some(()));
        server.stop();
    }
}
