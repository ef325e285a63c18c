//! Packets through a server: each ends once, flows keep their order over several workers, and a
//! draining server lets out those inside.

use crate::support::unhurried;
use nebula::net::{Forwarding, PacketDevice, Side, Unsent, packet_of};
use nebula::{PacketStatus, Policy, Reply, RunningServer, Server, ServerConfig};
use nebula_testing::wait::Watchdog;
use std::collections::VecDeque;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// Bytes of a packet: its flow, its number in that flow, and its fate.
const BYTES: usize = 4;
const PASSES: u8 = 0;
const DROPPED: u8 = 1;
const PANICS: u8 = 2;
/// A flow without a route.
const NOWHERE: u8 = 250;

/// Both sides of a device: the packets to come, and those that left.
#[derive(Clone, Debug, Default)]
struct Ends(Arc<Mutex<[VecDeque<Vec<u8>>; 4]>>);

impl Ends {
    fn lock(&self) -> MutexGuard<'_, [VecDeque<Vec<u8>>; 4]> {
        self.0.lock().expect("no test panics with it")
    }

    fn come(&self, side: Side, packet: [u8; BYTES]) {
        self.lock()[side.index()].push_back(packet.to_vec());
    }

    fn left(&self, side: Side) -> Vec<Vec<u8>> {
        self.lock()[2 + side.index()].iter().cloned().collect()
    }
}

impl PacketDevice for Ends {
    fn sides(&self) -> [String; 2] {
        ["a", "b"].map(str::to_owned)
    }

    fn frame_bytes_max(&self) -> usize {
        64
    }

    fn recv(&mut self, visit: &mut dyn FnMut(Side, &mut [u8])) -> usize {
        let mut packets = 0;
        for side in Side::ALL {
            // The lock is not held during the visits, since the server may use this device from
            // another thread.
            let come: Vec<_> = {
                let queue = &mut self.lock()[side.index()];
                let some = queue.len().min(8);
                queue.drain(..some).collect()
            };
            packets += come.len();
            come.into_iter().for_each(|mut packet| visit(side, &mut packet));
        }
        packets
    }

    fn send(&mut self, side: Side, frame: &mut [u8]) -> Result<(), Unsent> {
        if frame[0] == NOWHERE {
            return Err(Unsent::NoNeighbor);
        }
        self.lock()[2 + side.index()].push_back(frame.to_vec());
        Ok(())
    }

    fn flush(&mut self) {}

    fn lost(&self) -> u64 {
        3
    }

    fn wait(&mut self, _: Option<Duration>, _: BorrowedFd<'_>) -> io::Result<()> {
        Ok(())
    }
}

/// Passes a packet and appends its side; every third takes far longer.
fn serve(request: &[u8], reply: &mut Reply<'_>) {
    let (side, packet) = packet_of(request).expect("a packet");
    if packet[1].is_multiple_of(3) {
        (0..20_000).for_each(|turn| {
            std::hint::black_box(turn);
        });
    }
    match packet[2] {
        DROPPED => {}
        PANICS => panic!("as it was asked"),
        _ => reply.write(&[packet, &[u8::from(side == Side::Outside)]].concat()),
    }
}

fn start(ends: &Ends, keeps_order: bool, config: ServerConfig) -> RunningServer {
    let flow_hash = |frame: &[u8]| u32::from(frame[0]);
    let forwarding = Forwarding { device: Box::new(ends.clone()), flow_hash, keeps_order };
    Server::bind("shm://ignored").config(config).serve_packets(forwarding, serve).expect("a server")
}

fn wait_for(server: &RunningServer, packets: u64) -> PacketStatus {
    let counters = server.packets().expect("of a server of packets");
    loop {
        let status = counters.read();
        if status.received.iter().sum::<u64>() == packets && status.inside() == 0 {
            return status;
        }
        std::thread::yield_now();
    }
}

const FLOWS: u8 = 5;
const PACKETS: u8 = 200;

fn send_all(ends: &Ends) {
    for number in 0..PACKETS {
        for flow in 0..FLOWS {
            ends.come(if flow % 2 == 0 { Side::Inside } else { Side::Outside }, [flow, number, PASSES, 0]);
        }
    }
}

fn roomy(config: ServerConfig) -> ServerConfig {
    unhurried(config)
}

#[test]
fn flows_leave_in_their_order_whichever_worker_serves_them() {
    let _watchdog = Watchdog::new("flows_leave_in_their_order_whichever_worker_serves_them");
    let policies = ["jbsq:2", "single-queue", "rss", "key-hash", "work-stealing", "mcs-lock", "darc", "preemptive:5us"];
    for policy in policies.map(|policy| policy.parse::<Policy>().unwrap()) {
        let ends = Ends::default();
        let server = start(&ends, true, roomy(ServerConfig::default().workers(3).policy(policy)));
        send_all(&ends);
        let status = wait_for(&server, u64::from(FLOWS) * u64::from(PACKETS));
        assert_eq!(status.sent, [2 * u64::from(PACKETS), 3 * u64::from(PACKETS)], "{policy}");
        for flow in 0..FLOWS {
            let came_from = u8::from(flow % 2 == 1);
            let side = if came_from == 1 { Side::Inside } else { Side::Outside };
            let left: Vec<_> = ends.left(side).into_iter().filter(|packet| packet[0] == flow).collect();
            let expected: Vec<_> = (0..PACKETS).map(|number| vec![flow, number, PASSES, 0, came_from]).collect();
            assert_eq!(left, expected, "{policy}");
        }
        let status = server.stop();
        assert_eq!((status.slots_used, status.freed), (0, u64::from(FLOWS) * u64::from(PACKETS)));
    }
}

#[test]
fn without_order_and_inline_every_packet_leaves_too() {
    let _watchdog = Watchdog::new("without_order_and_inline_every_packet_leaves_too");
    for (keeps_order, inline, workers) in [(false, false, 3), (false, true, 1), (true, true, 1)] {
        let ends = Ends::default();
        let server = start(&ends, keeps_order, roomy(ServerConfig::default().workers(workers).inline(inline)));
        send_all(&ends);
        let status = wait_for(&server, u64::from(FLOWS) * u64::from(PACKETS));
        assert_eq!(status.sent.iter().sum::<u64>(), u64::from(FLOWS) * u64::from(PACKETS));
        let mut left = [ends.left(Side::Inside), ends.left(Side::Outside)].concat();
        left.sort();
        left.dedup();
        assert_eq!(left.len(), usize::from(FLOWS) * usize::from(PACKETS));
    }
}

#[test]
fn a_packet_that_does_not_leave_holds_up_none_and_is_counted() {
    let _watchdog = Watchdog::new("a_packet_that_does_not_leave_holds_up_none_and_is_counted");
    let ends = Ends::default();
    let server = start(&ends, true, roomy(ServerConfig::default().workers(2)));
    for (flow, fate) in [(1, DROPPED), (1, PANICS), (NOWHERE, PASSES), (1, PASSES)] {
        ends.come(Side::Inside, [flow, 1, fate, 0]);
    }
    let status = wait_for(&server, 4);
    assert_eq!((status.dropped, status.failed, status.no_neighbor, status.sent), (1, 1, 1, [0, 1]));
    assert!(server.drain(Duration::from_secs(60)));
    assert_eq!(server.packets().unwrap().read().lost, 3);
}

#[test]
fn what_admission_control_refuses_is_dropped_and_counted_once() {
    let _watchdog = Watchdog::new("what_admission_control_refuses_is_dropped_and_counted_once");
    let ends = Ends::default();
    let server = start(&ends, true, roomy(ServerConfig::default().inline(false)));
    assert!(server.drain(Duration::from_secs(60)));
    send_all(&ends);
    let status = wait_for(&server, u64::from(FLOWS) * u64::from(PACKETS));
    assert_eq!((status.refused, status.sent), (u64::from(FLOWS) * u64::from(PACKETS), [0, 0]));
    assert_eq!(server.stop().nacked_queue_bound, u64::from(FLOWS) * u64::from(PACKETS));
}

#[test]
fn a_server_of_packets_has_one_engine_and_no_clients() {
    let ends = Ends::default();
    let forwarding = Forwarding { device: Box::new(ends.clone()), flow_hash: |_| 0, keeps_order: false };
    let config = ServerConfig::default().engines(2).workers(2);
    let refused = Server::bind("shm://ignored").config(config).serve_packets(forwarding, serve).unwrap_err();
    assert!(refused.to_string().contains("has 1 engine"), "{refused}");
    let server = start(&ends, false, ServerConfig::default().inline(false));
    assert_eq!(server.endpoint().to_string(), "packets://a,b");
    let refused = nebula::Client::connect(server.endpoint().clone()).unwrap_err();
    assert!(refused.to_string().contains("no client connects"), "{refused}");
    let refused = Server::bind(server.endpoint().clone()).serve(serve).unwrap_err();
    assert!(refused.to_string().contains("serve_packets"), "{refused}");
}
