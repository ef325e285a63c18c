//! Unknown processes connect to the listener. Whatever they send, clients are served and the
//! listener accepts more.

use crate::alone;
use crate::support::raw::{RawRing, Slot, VERSION, answer_code, dial, hear, hello, is_readable, say};
use crate::support::{echo, endpoint, server_config, wait_until_clean};
use nebula::{Client, ClientConfig, Server};
use nebula_testing::wait::{Watchdog, wait_until};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").expect("a proc file system").count()
}

/// The engine may have made one more since, for its first sleep.
fn wait_until_closed(before: usize) {
    wait_until("the descriptors of those who left", || (descriptors() <= before + 1).then_some(()));
}

/// The code of the server's answer to these bytes, or `None` if it hangs up.
fn answer_to(endpoint: &str, bytes: &[u8]) -> Option<u32> {
    let socket = dial(endpoint);
    assert!(say(&socket, bytes));
    let (message, _) = hear(&socket);
    (!message.is_empty()).then(|| answer_code(&message))
}

#[test]
fn a_hello_that_is_none_gets_no_answer_or_a_reason() {
    let _alone = alone();
    let _watchdog = Watchdog::new("an invalid hello");
    let name = endpoint("hello");
    let server = Server::bind(&name).inline(false).serve(echo).expect("a server");
    let mut inside = Client::connect(&name).expect("a connection");
    assert_eq!(inside.call(b"before").expect("an echo"), b"before");
    let before = descriptors();
    for _ in 0..20 {
        for (version, slots, code) in [
            (0, 64, 1),
            (1, 64, 1),
            (u32::MAX, 0, 1),
            (VERSION, 0, 2),
            (VERSION, 1, 2),
            (VERSION, 63, 2),
            (VERSION, 1 << 17, 2),
            (VERSION, 64, 0),
        ] {
            assert_eq!(answer_to(&name, &hello(version, slots)), Some(code), "version {version}, {slots} slots");
        }
        let sound = hello(VERSION, 64);
        for bytes in [0, 1, 7, 8, 12, 63] {
            assert_eq!(answer_to(&name, &sound[..bytes]), None, "{bytes} bytes");
        }
        for at in 0..8 {
            let mut other = sound;
            other[at] ^= 0x20;
            assert_eq!(answer_to(&name, &other), None, "another byte {at}");
        }
        assert_eq!(inside.call(b"inside").expect("an echo"), b"inside");
    }
    wait_until_clean(server.status(), 1);
    wait_until_closed(before);
    server.stop();
}

fn say_with_descriptors(socket: &OwnedFd, count: usize) {
    let fds = vec![socket.as_fd(); count];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    assert!(control.push(SendAncillaryMessage::ScmRights(&fds)));
    sendmsg(socket, &[IoSlice::new(&hello(VERSION, 2))], &mut control, SendFlags::NOSIGNAL).expect("sent");
}

#[test]
fn descriptors_that_nobody_asked_for_are_closed() {
    let _alone = alone();
    let _watchdog = Watchdog::new("descriptors that nobody asked for");
    let name = endpoint("descriptors");
    let server = Server::bind(&name).inline(false).serve(echo).expect("a server");
    let before = descriptors();
    for count in [1, 2, 3, 8].repeat(50) {
        let socket = dial(&name);
        say_with_descriptors(&socket, count);
        hear(&socket);
    }
    wait_until_clean(server.status(), 0);
    wait_until_closed(before);
    server.stop();
}

#[test]
fn five_thousand_beyond_the_most_are_refused_and_cost_nothing() {
    let _alone = alone();
    let _watchdog = Watchdog::new("five thousand beyond clients_max");
    let name = endpoint("beyond");
    let config = server_config(|config| config.clients_max = 2);
    let server = Server::bind(&name).config(config).serve(echo).expect("a server");
    let mut admitted = [(); 2].map(|()| Client::connect(&name).expect("a connection"));
    let before = descriptors();
    for round in 0..50_u8 {
        let crowd: Vec<_> = (0..100).map(|_| dial_and_say(&name)).collect();
        for client in &mut admitted {
            assert_eq!(client.call(&[round]).expect("those who sit are served"), [round]);
        }
        for socket in &crowd {
            let (message, fds) = hear(socket);
            assert_eq!((answer_code(&message), fds.len()), (4, 0), "too many clients");
        }
    }
    wait_until_closed(before);
    wait_until_clean(server.status(), 2);
    server.stop();
}

fn dial_and_say(endpoint: &str) -> OwnedFd {
    let socket = dial(endpoint);
    assert!(say(&socket, &hello(VERSION, 64)));
    socket
}

#[test]
fn those_who_say_nothing_are_let_go_and_hold_up_nobody() {
    let _alone = alone();
    let _watchdog = Watchdog::new("those who say nothing");
    let name = endpoint("silent");
    let server = Server::bind(&name).inline(false).serve(echo).expect("a server");
    let before = descriptors();
    let silent: Vec<_> = (0..4096).map(|_| dial(&name)).collect();
    for number in 0..20_u8 {
        let mut client = Client::connect(&name).expect("the listener accepts");
        assert_eq!(client.call(&[number]).expect("an echo"), [number]);
        // The server keeps some dozens of them, and a client takes a few.
        let kept = descriptors() - before - silent.len();
        assert!(kept < 100, "{kept}");
    }
    wait_until("an end of patience", || silent.iter().all(is_readable).then_some(()));
    assert!(silent.iter().all(|socket| hear(socket).0.is_empty()), "hung up without a word");
    drop(silent);
    wait_until_closed(before);
    server.stop();
}

#[test]
fn those_who_leave_before_the_answer_give_their_numbers_back() {
    let _alone = alone();
    let _watchdog = Watchdog::new("those who leave before the answer");
    let name = endpoint("hasty");
    let config = server_config(|config| config.clients_max = 4);
    let server = Server::bind(&name).config(config).serve(echo).expect("a server");
    let before = descriptors();
    for _ in 0..1000 {
        drop(dial_and_say(&name));
    }
    let admitted: Vec<_> = (0..4).map(|_| wait_until("a connection", || Client::connect(&name).ok())).collect();
    wait_until_clean(server.status(), 4);
    drop(admitted);
    wait_until_closed(before);
    server.stop();
}

#[test]
fn one_who_talks_after_the_welcome_is_let_go() {
    let _alone = alone();
    let _watchdog = Watchdog::new("one who talks");
    let name = endpoint("talks");
    let server = Server::bind(&name).inline(false).serve(echo).expect("a server");
    let mut honest = Client::connect_with(&name, ClientConfig::default()).expect("a connection");
    for _ in 0..50 {
        let ring = RawRing::connect(&name, 4);
        ring.put(0, Slot::request(8, 1));
        wait_until("an echo", || ring.answer(0));
        assert!(say(&ring.socket, b"and another thing"));
        wait_until_clean(server.status(), 1);
        assert_eq!(honest.call(b"honest").expect("an echo"), b"honest");
        wait_until("the end of the talk", || ring.is_cut().then_some(()));
    }
    server.stop();
}
