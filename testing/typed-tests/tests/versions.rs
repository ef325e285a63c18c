//! Every version of a service against every other: what fits works, what does not is refused as it
//! connects.

use super::endpoint;
use nebula::{RunningServer, Server, ServerConfig};
use nebula_typed::{CallError, Code, ConnectError, Context, Slot, Status};
use typed_tests::versions::*;

/// Implements a version's service: GET answers with the double of the key, FIND with the text's
/// length.
macro_rules! store {
    ($version:ident, get: |$get:ident| $get_reply:expr, find: |$find:ident| $find_reply:expr $(, touch: $touch:expr)?) => {
        impl $version::Store for Store {
            fn get(&self, _: &Context, $get: &$version::GetRequest, reply: Slot<$version::GetReply>) -> Result<(), Status> {
                reply.write(&$get_reply)
            }
            store!(@find $version, $find, $find_reply);
            $(
                fn touch(&self, _: &Context, _: &$version::GetRequest, reply: Slot<$version::GetReply>) -> Result<(), Status> {
                    reply.write(&$touch)
                }
            )?
        }
    };
    (@find shrunk, $find:ident, $find_reply:expr) => {};
    (@find $version:ident, $find:ident, $find_reply:expr) => {
        fn find(&self, _: &Context, $find: &$version::FindRequest, reply: Slot<$version::FindReply>) -> Result<(), Status> {
            reply.write(&$find_reply)
        }
    };
}

struct Store;

store!(base, get: |q| base::GetReply { value: (2 * q.key.get()).into(), flags: 3.into() },
    find: |q| base::FindReply { keys: vec![q.text.len() as u64] });
store!(appended,
    get: |q| appended::GetReply { value: (2 * q.key.get()).into(), flags: 3.into(), version: u64::from(100 + q.options.get()).into() },
    find: |q| appended::FindReply { keys: vec![q.text.len() as u64], more: true },
    touch: appended::GetReply::default());
store!(retyped, get: |q| retyped::GetReply { value: (2 * q.key.get()).into(), flags: 3.into() },
    find: |q| retyped::FindReply { keys: vec![q.text.len() as u64] });
store!(reordered, get: |q| reordered::GetReply { value: (2 * q.key.get()).into(), flags: 3.into() },
    find: |q| reordered::FindReply { keys: vec![q.text.len() as u64] });
store!(reencoded, get: |q| reencoded::GetReply { value: 2 * q.key.get(), flags: 3, note: String::new() },
    find: |q| reencoded::FindReply { keys: vec![q.text.len() as u64] });
store!(renumbered, get: |q| renumbered::GetReply { value: (2 * q.key.get()).into(), flags: 3.into() },
    find: |q| renumbered::FindReply { keys: vec![q.text.len() as u64] });
store!(shrunk, get: |q| shrunk::GetReply { value: (2 * q.key.get()).into() }, find: |q| ());

fn config() -> ServerConfig {
    ServerConfig::default().inline(false).reply_bytes_max(256)
}

/// A server of each version, and its name.
fn servers(test: &str) -> Vec<(&'static str, String, RunningServer)> {
    macro_rules! servers {
        ($($version:ident),+) => {
            vec![$({
                let endpoint = endpoint(&format!("{test}-{}", stringify!($version)));
                let server = Server::bind(&endpoint).config(config()).serve($version::StoreServer(Store)).unwrap();
                (stringify!($version), endpoint, server)
            }),+]
        };
    }
    servers!(base, appended, retyped, reordered, reencoded, renumbered, shrunk)
}

/// What became of a client of each version at a server: the double of 21, or why it was refused.
fn clients(endpoint: &str) -> Vec<(&'static str, Result<u64, ConnectError>)> {
    macro_rules! clients {
        ($($version:ident: |$reply:ident| $value:expr),+) => {
            vec![$((
                stringify!($version),
                $version::StoreClient::connect(endpoint).map(|mut client| {
                    let $reply = client.get(&$version::GetRequest { key: 21.into(), ..Default::default() }).unwrap();
                    $value
                }),
            )),+]
        };
    }
    clients!(
        base: |reply| reply.value.get(), appended: |reply| reply.value.get(), retyped: |reply| reply.value.get(),
        reordered: |reply| reply.value.get(), reencoded: |reply| reply.value, renumbered: |reply| reply.value.get(),
        shrunk: |reply| reply.value.get()
    )
}

/// Versions that fit each other. All others fit only themselves.
const FIT: &[&[&str]] = &[&["base", "appended", "shrunk"], &["shrunk", "retyped"]];

#[test]
fn every_version_meets_every_other() {
    for (served, endpoint, server) in servers("matrix") {
        for (asked, result) in clients(&endpoint) {
            let fits = served == asked || FIT.iter().any(|fit| fit.contains(&served) && fit.contains(&asked));
            match result {
                Ok(value) => assert!(fits && value == 42, "{asked} at {served}: {value}"),
                Err(ConnectError::NotServed { .. }) => {
                    assert!([served, asked].contains(&"renumbered"), "{asked} at {served}")
                }
                Err(ConnectError::Schema { client, server, misfit, .. }) => {
                    assert!(!fits && client != server, "{asked} at {served}: {misfit}");
                }
                Err(error) => panic!("{asked} at {served}: {error}"),
            }
        }
        server.stop();
    }
}

#[test]
fn a_refusal_names_both_schemas_and_what_differs() {
    let endpoint = endpoint("refusal");
    let server = Server::bind(&endpoint).config(config()).serve(base::StoreServer(Store)).unwrap();
    let error = retyped::StoreClient::connect(&endpoint).unwrap_err().to_string();
    let (client, served) = (retyped::STORE.fingerprint, base::STORE.fingerprint);
    assert_eq!(
        error,
        format!(
            "tests.store.Store: the schemas do not fit: {client} here, {served} at the server: tests.store.GetReply: field 2 is \
             `flags` (int32, up to byte 12) at one end and `flags` (uint32, up to byte 12) at the other"
        )
    );
    server.stop();
}

#[test]
fn what_the_other_end_lacks_is_zero_or_unimplemented() {
    let endpoint = endpoint("old-server");
    let server = Server::bind(&endpoint).config(config()).serve(base::StoreServer(Store)).unwrap();
    let mut client = appended::StoreClient::connect(&endpoint).unwrap();
    let request = appended::GetRequest { key: 21.into(), options: 5.into() };
    let reply = client.get(&request).unwrap();
    assert_eq!((reply.value.get(), reply.flags.get(), reply.version.get()), (42, 3, 0));
    assert!(!client.find(&appended::FindRequest { text: "four".into() }).unwrap().more);
    match client.touch(&request) {
        Err(CallError::Status(status)) => assert_eq!(status.code(), Code::Unimplemented),
        other => panic!("{other:?}"),
    }
    server.stop();

    let endpoint = super::endpoint("new-server");
    let server = Server::bind(&endpoint).config(config()).serve(appended::StoreServer(Store)).unwrap();
    let mut client = base::StoreClient::connect(&endpoint).unwrap();
    let reply = client.get(&base::GetRequest { key: 21.into() }).unwrap();
    assert_eq!((reply.value.get(), reply.flags.get()), (42, 3));
    assert_eq!(client.find(&base::FindRequest { text: "four".into() }).unwrap().keys, [4]);
    server.stop();
}

/// Over UDP a client outlives its server: what comes back under the address may be another version.
#[test]
fn a_server_that_comes_back_with_another_schema_is_not_misread() {
    let first = Server::bind("udp://127.0.0.1:0").config(config()).serve(base::StoreServer(Store)).unwrap();
    let endpoint = first.endpoint().clone();
    let clients = || base::StoreClient::connect(&endpoint).unwrap();
    let (mut calling, mut submitting, mut idle) = (clients(), clients(), clients());
    let task = base::StoreAsyncClient::connect(&endpoint).wait().unwrap();
    let request = base::GetRequest { key: 21.into(), ..Default::default() };
    for client in [&mut calling, &mut submitting] {
        assert_eq!(client.get(&request).unwrap().value.get(), 42);
    }
    first.stop();
    // The same bytes mean another thing to it.
    let second = Server::bind(&endpoint).config(config()).serve(retyped::StoreServer(Store)).unwrap();
    for _ in 0..3 {
        assert!(matches!(calling.get(&request), Err(CallError::Rpc(_))), "nothing that it answers is a reply");
        assert!(matches!(idle.get(&request), Err(CallError::Rpc(_))));
        assert!(matches!(wait(task.get(&request)), Err(CallError::Rpc(_))));
    }
    let mut ends = 0;
    for _ in 0..1_000_000 {
        if submitting.submit_get(&request) == Err(nebula::SubmitError::ServerGone)
            && submitting.channel().outstanding() == 0
        {
            break;
        }
        while let Some((_, end)) = submitting.poll() {
            assert!(matches!(end, Err(CallError::Rpc(_))), "{end:?}");
            ends += 1;
        }
    }
    assert!(ends > 0, "it was told of what it had sent");
    assert_eq!(submitting.submit_get(&request), Err(nebula::SubmitError::ServerGone));
    assert_eq!(second.status().read().dispatched, 0, "none of it was executed");
    // To connect again is to compare again.
    assert!(matches!(base::StoreClient::connect(&endpoint), Err(ConnectError::Schema { .. })));
    second.stop();
}

fn wait<F: Future>(future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    loop {
        if let std::task::Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
    }
}

#[test]
fn of_several_servers_only_those_get_rpcs_whose_schema_fits() {
    // With the two that fit a client of `base` and one that does not; the client knows only that it
    // is to call any of them.
    let servers = servers("several");
    let named = |names: &[&str]| {
        let endpoints =
            servers.iter().filter(|(version, ..)| names.contains(version)).map(|(_, name, _)| name.as_str());
        endpoints.collect::<Vec<_>>().join(",")
    };
    let request = base::GetRequest { key: 21.into() };
    let config = || nebula::ClientConfig::default().balance(nebula::Balance::RoundRobin);
    let endpoints = named(&["base", "appended", "reencoded"]);
    let mut client = base::StoreClient::connect_with(&*endpoints, config()).unwrap();
    for _ in 0..30 {
        assert_eq!(client.get(&request).map(|reply| reply.value.get()), Ok(42));
    }
    // Those of tasks too, and while calls are outstanding.
    let client = base::StoreAsyncClient::connect_with(&*endpoints, config()).wait().unwrap();
    let call = || super::tasks::all([client.get(&request)]).pop().unwrap().map(|reply| reply.value.get());
    assert!((0..30).all(|_| call() == Ok(42)));
    let error = base::StoreClient::connect_with(&*named(&["reencoded", "retyped"]), config()).unwrap_err();
    assert!(matches!(error, ConnectError::Schema { .. }), "{error}");
    for (_, _, server) in servers {
        server.stop();
    }
}
