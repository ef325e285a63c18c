//! Items that outlive their server: adopted memory, snapshots, and files that do not fit.

use std::process::Child;

use nebula::Client;
use nebula_kvs::protocol::{Reply, Request, Status};
use rustix::process::Signal;

use crate::program::{command, end, endpoint, nebula, signal, start, wait};

/// Serves a small store, with additional `words`.
fn serve(endpoint: &str, words: &[&str]) -> Child {
    let small = ["serve", "kv", "--endpoint", endpoint, "--inline", "--items", "1000", "--end-with-parent"];
    start(command(&[&small[..], words].concat())).0
}

fn ask(client: &mut Client, request: &Request<'_>) -> (Status, Vec<u8>) {
    let mut message = vec![0; request.encoded_bytes()];
    request.encode_into(&mut message).unwrap();
    let reply = Reply::decode(client.call(&message).unwrap()).unwrap();
    (reply.status, reply.value.to_vec())
}

fn keys() -> impl Iterator<Item = [u8; 16]> {
    (0..100).map(|number| [number; 16])
}

fn store_all(endpoint: &str) {
    let mut client = Client::connect(endpoint).unwrap();
    for key in keys() {
        assert_eq!(ask(&mut client, &Request::Set { key: &key, value: &key }).0, Status::Ok);
    }
}

fn count(endpoint: &str) -> usize {
    let mut client = Client::connect(endpoint).unwrap();
    keys().filter(|key| ask(&mut client, &Request::Get { key }) == (Status::Ok, key.to_vec())).count()
}

#[test]
fn the_next_server_has_the_items_of_one_that_was_killed_and_of_one_that_ended() {
    let (endpoint, folder) = (endpoint("adopt"), tempfile::tempdir().unwrap());
    let path = folder.path().join("items").display().to_string();
    let words = ["--adopt", &path, "--eviction", "unread"];
    let first = serve(&endpoint, &words);
    store_all(&endpoint);
    signal(&first, Signal::KILL);
    wait(first);
    let second = serve(&endpoint, &words);
    assert_eq!(count(&endpoint), 100);
    end(second).assert_ok();
    let third = serve(&endpoint, &words);
    assert_eq!(count(&endpoint), 100);
    end(third).assert_ok();
    let other = ["serve", "kv", "--endpoint", &endpoint, "--inline", "--items", "5000", "--adopt", &path];
    nebula(&other).assert_error(2, "buckets");
}

#[test]
fn a_snapshot_of_one_server_is_loaded_by_another_and_a_damaged_one_is_refused() {
    let (endpoint, folder) = (endpoint("snapshot"), tempfile::tempdir().unwrap());
    let path = folder.path().join("items").display().to_string();
    let first = serve(&endpoint, &["--snapshot", &path]);
    store_all(&endpoint);
    end(first).assert_ok();
    let second = serve(&endpoint, &["--load", &path]);
    assert_eq!(count(&endpoint), 100);
    end(second).assert_ok();
    let load = ["serve", "kv", "--endpoint", &endpoint, "--inline", "--items", "1000", "--load", &path];
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, [&whole[..], b"more"].concat()).unwrap();
    nebula(&load).assert_error(2, "bytes follow the end");
    let mut bytes = whole;
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    nebula(&load).assert_error(2, "damaged");
}

#[test]
fn a_snapshot_takes_the_place_of_no_device_and_of_no_pipe() {
    let (endpoint, folder) = (endpoint("no-file"), tempfile::tempdir().unwrap());
    let pipe = folder.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    for flag in ["--snapshot", "--load"] {
        let words = ["serve", "kv", "--endpoint", &endpoint, "--inline", "--items", "9", flag, pipe.to_str().unwrap()];
        nebula(&words).assert_error(2, "it is no regular file");
    }
    assert!(std::os::unix::fs::FileTypeExt::is_fifo(&std::fs::symlink_metadata(&pipe).unwrap().file_type()));
}

#[test]
fn the_memory_of_a_server_that_ended_is_as_it_was_left_or_refused() {
    let (endpoint, folder) = (endpoint("damaged"), tempfile::tempdir().unwrap());
    let path = folder.path().join("items").display().to_string();
    let first = serve(&endpoint, &["--adopt", &path]);
    store_all(&endpoint);
    end(first).assert_ok();
    let adopt = ["serve", "kv", "--endpoint", &endpoint, "--inline", "--items", "1000", "--adopt", &path];
    let mut bytes = std::fs::read(&path).unwrap();
    // A value is as its key, and behind it.
    let value = bytes.windows(32).position(|window| window == [7; 32]).unwrap() + 20;
    bytes[value] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    nebula(&adopt).assert_error(2, "damaged");
    std::fs::write(&path, &bytes[..4096 * 3]).unwrap();
    nebula(&adopt).assert_error(2, "not as long");
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o666)).unwrap();
    nebula(&adopt).assert_error(2, "others can write it");
}
