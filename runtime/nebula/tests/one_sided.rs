//! One-sided operations end to end: over shared memory, mapped or by the engine, and over UDP.

use nebula::{
    AccessRefusal, CallError, Client, ClientConfig, Completion, Executed, Region, RegionId, Reply, Rights,
    RunningServer, Server, ServerConfig, SubmitError, Ticket,
};
use nebula_testing::wait::Limit;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::{patient_client, unhurried};

const ALL: Rights = Rights::from_bits(3);
const REGION: RegionId = RegionId(0);

fn echo(request: &[u8], reply: &mut Reply<'_>) {
    reply.write(request);
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Mapped,
    Engine,
    Udp,
}

const WAYS: [Way; 3] = [Way::Mapped, Way::Engine, Way::Udp];

impl Way {
    fn rights(self, rights: Rights) -> Rights {
        if self == Self::Mapped { rights | Rights::MAP } else { rights }
    }

    /// A server of `region` with these rights, and a client.
    fn open(self, name: &str, region: &Region, rights: Rights) -> (RunningServer, Client) {
        let endpoint = match self {
            Self::Udp => "udp://127.0.0.1:0".to_owned(),
            _ => format!("shm://one-sided-{name}-{self:?}-{}", std::process::id()),
        };
        let config = unhurried(ServerConfig::default().inline(self == Self::Udp));
        let server = Server::bind(&endpoint).config(config).register(region, self.rights(rights));
        let server = server.serve(echo).expect("a server");
        let client = connect(&server);
        (server, client)
    }
}

fn connect(server: &RunningServer) -> Client {
    Client::connect_with(server.endpoint().clone(), patient_client().one_sided(true)).expect("a client")
}

fn end(client: &mut Client, ticket: Result<Ticket, SubmitError>) -> Result<Vec<u8>, CallError> {
    client.finish(ticket?).map(<[u8]>::to_vec)
}

/// The end of the only outstanding operation, by polling.
fn polled(client: &mut Client, ticket: Ticket) -> Result<Vec<u8>, CallError> {
    loop {
        if let Some(done) = client.poll() {
            assert_eq!(done.ticket, ticket);
            return done.result.map(<[u8]>::to_vec);
        }
    }
}

fn refused(refusal: AccessRefusal) -> Result<Vec<u8>, CallError> {
    Err(CallError::Refused { refusal })
}

fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| u8::try_from(at * 7 % 251).expect("below 251")).collect()
}

#[test]
fn what_is_read_is_what_the_server_has_written_wherever_it_lies() {
    for way in WAYS {
        let region = Region::create(4096).unwrap();
        region.write(0, &pattern(4096)).unwrap();
        let (server, mut client) = way.open("read", &region, Rights::READ);
        for (at, bytes) in [(0, 64), (3, 1), (60, 9), (64, 0), (63, 130), (0, 4096), (4095, 1), (4096, 0)] {
            let read = client.read(REGION, at as u64, u32::try_from(bytes).unwrap());
            assert_eq!(end(&mut client, read), Ok(pattern(4096)[at..at + bytes].to_vec()), "{bytes} at {at}, {way:?}");
        }
        assert_eq!(client.call(b"an RPC").unwrap(), b"an RPC", "on the same connection");
        server.stop();
    }
}

#[test]
fn what_is_written_is_there_and_nothing_beside_it() {
    for way in WAYS {
        let region = Region::create(4096).unwrap();
        let (server, mut client) = way.open("write", &region, ALL);
        let mut expected = vec![0; 4096];
        for (at, bytes) in [(0, 64), (3, 1), (100, 9), (63, 130), (1000, 1024), (4095, 1), (64, 0)] {
            let data: Vec<u8> = pattern(bytes).iter().map(|byte| byte | 1).collect();
            let write = client.write(REGION, at as u64, &data);
            assert_eq!(end(&mut client, write), Ok(Vec::new()), "{bytes} at {at}, {way:?}");
            expected[at..at + bytes].copy_from_slice(&data);
            let mut there = vec![0; 4096];
            region.read(0, &mut there).unwrap();
            assert_eq!(there, expected, "{bytes} at {at}, {way:?}");
        }
        server.stop();
    }
}

#[test]
fn a_swap_is_made_once_if_the_word_is_as_expected() {
    for way in WAYS {
        let region = Region::create(64).unwrap();
        let (server, mut client) = way.open("swap", &region, ALL);
        let word = |value: u64| Ok(value.to_le_bytes().to_vec());
        for (expected, desired, found) in [(1, 5, 0), (0, 5, 0), (0, 6, 5), (5, u64::MAX, 5)] {
            let swap = client.compare_swap(REGION, 16, expected, desired);
            assert_eq!(end(&mut client, swap), word(found), "{way:?}");
        }
        assert_eq!(region.compare_swap(16, 0, 0), Ok(u64::MAX));
        let swap = client.compare_swap(REGION, 12, 0, 0);
        assert_eq!(end(&mut client, swap), refused(AccessRefusal::Unaligned), "{way:?}");
        server.stop();
    }
}

#[test]
fn what_is_outside_or_not_allowed_is_refused_and_changes_nothing() {
    for way in WAYS {
        let region = Region::create(128).unwrap();
        let (server, mut client) = way.open("refused", &region, Rights::READ);
        for (at, bytes) in [(65, 64), (128, 1), (u64::MAX, 1), (u64::MAX - 7, 16), (1 << 40, 8)] {
            let read = client.read(REGION, at, bytes);
            assert_eq!(end(&mut client, read), refused(AccessRefusal::Bounds), "{bytes} at {at}, {way:?}");
        }
        let write = client.write(REGION, 0, b"no");
        assert_eq!(end(&mut client, write), refused(AccessRefusal::Rights), "{way:?}");
        let swap = client.compare_swap(REGION, 0, 0, 1);
        assert_eq!(end(&mut client, swap), refused(AccessRefusal::Rights), "{way:?}");
        for unknown in [RegionId(1), RegionId(0x1_0000), RegionId(u32::MAX)] {
            let read = client.read(unknown, 0, 8);
            assert_eq!(end(&mut client, read), refused(AccessRefusal::Unknown), "{way:?}");
        }
        let mut there = [1; 128];
        region.read(0, &mut there).unwrap();
        assert_eq!(there, [0; 128]);
        let read = client.read(REGION, 64, 64);
        assert_eq!(end(&mut client, read), Ok(vec![0; 64]), "and it goes on");
        server.stop();
    }
}

#[test]
fn a_region_that_is_revoked_is_refused_unless_it_is_mapped() {
    for way in WAYS {
        let region = Region::create(64).unwrap();
        let (server, mut client) = way.open("revoked", &region, Rights::READ);
        let read = client.read(REGION, 0, 8);
        assert!(end(&mut client, read).is_ok());
        assert!(server.revoke(REGION) && !server.revoke(RegionId(1)) && !server.revoke(RegionId(0x1_0000)));
        let read = client.read(REGION, 0, 8);
        let expected = if way == Way::Mapped { Ok(vec![0; 8]) } else { refused(AccessRefusal::Unknown) };
        assert_eq!(end(&mut client, read), expected, "{way:?}");
        let mut later = connect(&server);
        let read = later.read(REGION, 0, 8);
        assert_eq!(end(&mut later, read), refused(AccessRefusal::Unknown), "{way:?}");
        server.stop();
    }
}

#[test]
fn a_part_of_a_region_is_all_that_its_clients_reach() {
    for way in WAYS {
        let region = Region::create(256).unwrap();
        region.write(0, &pattern(256)).unwrap();
        let part = region.part(64, 64).unwrap();
        let (server, mut client) = way.open("part", &part, ALL);
        let read = client.read(REGION, 8, 56);
        assert_eq!(end(&mut client, read), Ok(pattern(256)[72..128].to_vec()), "{way:?}");
        let read = client.read(REGION, 8, 57);
        assert_eq!(end(&mut client, read), refused(AccessRefusal::Bounds), "{way:?}");
        server.stop();
    }
    let region = Region::create(256).unwrap();
    assert_eq!(region.part(4, 8).map(drop), Err(AccessRefusal::Unaligned));
    assert_eq!(region.part(192, 65).map(drop), Err(AccessRefusal::Bounds));
}

#[test]
fn operations_and_rpcs_end_under_their_tickets_in_any_order() {
    for way in WAYS {
        let region = Region::create(1 << 16).unwrap();
        region.write(0, &pattern(1 << 16)).unwrap();
        let (server, mut client) = way.open("beside", &region, ALL);
        for round in 0..15_usize {
            let mut expected = Vec::new();
            for nth in 0..8_usize {
                let (at, bytes) = (nth * 4000 + round, nth * 37);
                let ticket = client.read(REGION, at as u64, u32::try_from(bytes).unwrap()).unwrap();
                expected.push((ticket, pattern(1 << 16)[at..at + bytes].to_vec()));
                let request = [u8::try_from(nth).unwrap(); 20];
                expected.push((client.submit(&request).unwrap(), request.to_vec()));
            }
            assert_eq!(client.outstanding(), 16, "{way:?}");
            assert!(matches!(client.call(b"no"), Err(CallError::Outstanding { rpcs: 16 })));
            while !expected.is_empty() {
                let Some(Completion { ticket, result }) = client.poll() else { continue };
                let place = expected.iter().position(|expected| expected.0 == ticket).expect("it ends once");
                assert_eq!(result.unwrap(), expected.swap_remove(place).1, "{way:?}");
            }
            assert_eq!(client.outstanding(), 0);
        }
        server.stop();
    }
}

#[test]
fn an_object_with_a_version_is_read_in_one_piece_while_it_is_written() {
    // Objects of several blocks, and of one.
    for (way, bytes) in WAYS.into_iter().flat_map(|way| [(way, 300), (way, 56)]) {
        let region = Region::create(512).unwrap();
        region.write_whole(0, 8, &vec![0; bytes]).unwrap();
        let (server, mut client) = way.open("whole", &region, Rights::READ);
        let is_over = Arc::new(AtomicBool::new(false));
        let writer = {
            let (region, is_over) = (region.clone(), is_over.clone());
            std::thread::spawn(move || {
                let mut byte = 0_u8;
                while !is_over.load(Ordering::Relaxed) {
                    byte = byte.wrapping_add(1);
                    region.write_whole(0, 8, &vec![byte; bytes]).unwrap();
                    for _ in 0..2000 {
                        std::hint::spin_loop();
                    }
                }
            })
        };
        let (mut read, mut versions) = (0, 0);
        let mut before = 0;
        let limit = Limit::new("objects of several versions");
        while versions < 20 || read < 200 {
            limit.check();
            let ticket = client.read_whole(REGION, 0, 8, u32::try_from(bytes).unwrap()).unwrap();
            match polled(&mut client, ticket) {
                Ok(object) => {
                    let (version, object) = object.split_first_chunk().unwrap();
                    let version = u64::from_le_bytes(*version);
                    assert!(version >= before && version % 2 == 0, "{way:?}");
                    assert_eq!(object, vec![object[0]; bytes], "{way:?}");
                    // The first version is all zeros.
                    assert_eq!(u64::from(object[0]), (version / 2 - 1) % 256, "{way:?}");
                    (read, versions) = (read + 1, versions + u32::from(version != before));
                    before = version;
                }
                Err(error) => assert_eq!(error, CallError::Refused { refusal: AccessRefusal::Torn }),
            }
        }
        is_over.store(true, Ordering::Relaxed);
        writer.join().unwrap();
        // A write that was never finished leaves a torn object, which the read reports.
        region.write(0, &[1]).unwrap();
        let torn = client.read_whole(REGION, 0, 8, 8).unwrap();
        assert_eq!(polled(&mut client, torn), refused(AccessRefusal::Torn), "{way:?}");
        let torn = client.read_whole(REGION, 0, 8, 8);
        assert_eq!(end(&mut client, torn), refused(AccessRefusal::Torn), "{way:?}");
        let torn = client.read_whole(REGION, 4, 8, 8);
        assert_eq!(end(&mut client, torn), refused(AccessRefusal::Unaligned), "{way:?}");
        server.stop();
    }
}

#[test]
fn an_operation_that_is_cancelled_ends_once_and_its_place_is_used_again() {
    for way in [Way::Engine, Way::Udp] {
        let region = Region::create(1 << 16).unwrap();
        let (server, mut client) = way.open("cancel", &region, Rights::READ);
        for bytes in [1 << 14, 64].repeat(150) {
            let ticket = client.read(REGION, 0, bytes).unwrap();
            assert!(client.cancel(ticket));
            assert_eq!(polled(&mut client, ticket), Err(CallError::Cancelled), "{way:?}");
            assert!(!client.cancel(ticket) && client.outstanding() == 0);
        }
        server.stop();
    }
}

#[test]
fn as_many_operations_as_slots_are_outstanding_and_then_there_is_no_room() {
    for way in WAYS {
        let region = Region::create(64).unwrap();
        let (server, _) = way.open("room", &region, Rights::READ);
        let config = patient_client().one_sided(true).slots(4);
        let mut client = Client::connect_with(server.endpoint().clone(), config).unwrap();
        for _ in 0..3 {
            let tickets: Vec<_> = (0..4).map(|_| client.read(REGION, 0, 64).unwrap()).collect();
            assert_eq!(client.read(REGION, 0, 64), Err(SubmitError::Full), "{way:?}");
            let mut ended = Vec::new();
            while ended.len() < 4 {
                ended.extend(client.poll().map(|done| done.ticket));
            }
            ended.sort_unstable();
            assert_eq!(ended, tickets, "{way:?}");
        }
        server.stop();
    }
}

#[test]
fn the_engine_serves_operations_while_its_worker_has_an_rpc() {
    let name = format!("shm://one-sided-busy-{}", std::process::id());
    let (region, is_over) = (Region::create(64).unwrap(), Arc::new(AtomicBool::new(false)));
    let go_on = is_over.clone();
    let busy = move |_: &[u8], reply: &mut Reply<'_>| {
        while !go_on.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        reply.write(b"late");
    };
    let server = Server::bind(&name).inline(false).register(&region, Rights::READ).serve(busy).unwrap();
    let mut client = connect(&server);
    let rpc = client.submit(b"wait").unwrap();
    for _ in 0..100 {
        let read = client.read(REGION, 0, 64).unwrap();
        let ended = loop {
            if let Some(done) = client.poll() {
                break (done.ticket, done.result.map(<[u8]>::len));
            }
        };
        assert_eq!(ended, (read, Ok(64)), "no worker is needed");
    }
    is_over.store(true, Ordering::Release);
    let ended = loop {
        if let Some(done) = client.poll() {
            break done.ticket;
        }
    };
    assert_eq!(ended, rpc);
    let status = server.stop();
    assert_eq!((status.operations, status.operations_refused, status.completed), (100, 0, 1));
}

#[test]
fn a_client_that_asked_for_none_makes_none_and_several_servers_take_none() {
    let region = Region::create(64).unwrap();
    let (server, _) = Way::Engine.open("asked", &region, Rights::READ);
    let mut client = Client::connect(server.endpoint().clone()).unwrap();
    assert_eq!(client.read(REGION, 0, 8), Err(SubmitError::NotOneSided));
    let refused = client.finish(Ticket(0)).unwrap_err();
    assert_eq!((refused.was_executed(), &refused), (Executed::No, &CallError::NotSent(SubmitError::NotOneSided)));
    let two = format!("{0},{0}", server.endpoint());
    let several = Client::connect_with(&two, ClientConfig::default().one_sided(true));
    assert!(several.is_err_and(|error| error.to_string().contains("one server")));
    let mut client = connect(&server);
    let read = client.read(REGION, 0, (64 << 20) + 1);
    assert!(matches!(read, Err(SubmitError::TooLarge { .. })));
    server.stop();
}

#[test]
fn a_server_that_is_gone_ends_operations() {
    let region = Region::create(64).unwrap();
    let (server, mut client) = Way::Engine.open("gone", &region, Rights::READ);
    server.stop();
    let ticket = client.read(REGION, 0, 64);
    assert_eq!(end(&mut client, ticket), Err(CallError::ServerGone));
}

#[test]
fn a_ring_of_the_shortest_slots_carries_operations_too() {
    let name = format!("shm://one-sided-short-{}", std::process::id());
    let region = Region::create(256).unwrap();
    region.write(0, &pattern(256)).unwrap();
    let mut config =
        nebula::ServerConfig::default().inline(false).regions(vec![nebula::Registered::new(region.clone(), ALL)]);
    config.mtu_bytes = 48;
    let server = Server::bind(&name).config(config).serve(echo).unwrap();
    let mut client = connect(&server);
    let read = client.read(REGION, 5, 200);
    assert_eq!(end(&mut client, read), Ok(pattern(256)[5..205].to_vec()));
    let write = client.write(REGION, 9, &[1; 100]);
    assert_eq!(end(&mut client, write), Ok(Vec::new()));
    let mut there = [0; 100];
    region.read(9, &mut there).unwrap();
    assert_eq!(there, [1; 100]);
    server.stop();
}
