//! Clients whose address changes, with a real server on the test's wire and clock: with a key they
//! go on at the new address, without one no peer can take them over, and no RPC is executed twice.

use crate::support::by_hand::{ByHand, job, reply, whole};
use crate::support::udp_raw::*;

#[test]
fn a_client_whose_address_changes_goes_on_and_its_rpcs_are_executed_once() {
    let key = [9; 32];
    let mut scene = ByHand::open_sealed(key);
    let mut client = scene.client();
    scene.is_served(&mut client, 0, 1);
    let request = Packet::whole(1, scene.now_ns(), &job(2, 100, 50)).bytes();
    assert_eq!(scene.ask(&mut client, &request), [reply(1, 2, 50)]);
    // The reply is lost and the client's address changes: its token is not valid there.
    let snid = client.snid;
    client.address = scene.address();
    let frame = client.frame(&request);
    let said = scene.say(client.address, &frame);
    assert_eq!(refusal_of(&frame, &said[0].1, Some(key)), BY_TOKEN);
    let hello = client.hello(5);
    let said = scene.say(client.address, &hello);
    let welcome = Welcome::read(&said[0].1, Some(key));
    assert_eq!((welcome.snid, welcome.echo), (snid, 5), "it is the client that it was");
    assert_ne!(welcome.token, client.token, "for this address");
    client.enter(&welcome);
    assert_eq!(scene.ask(&mut client, &request), [reply(1, 2, 50)], "from memory");
    assert_eq!(scene.executed(2), 1);
    // So does an RPC of which the server has a part.
    let long = job(3, 2000, 10);
    let now = scene.now_ns();
    assert!(scene.ask(&mut client, &Packet::part(2, now, &long, 0).bytes()).is_empty());
    client.address = scene.address();
    let hello = client.hello(6);
    let said = scene.say(client.address, &hello);
    client.enter(&Welcome::read(&said[0].1, Some(key)));
    let whole = Packet { wants_ack: true, ..Packet::part(2, now, &long, 1) }.bytes();
    let answers = scene.ask(&mut client, &whole);
    assert!(answers.contains(&reply(2, 3, 10)), "{answers:?}");
}

#[test]
fn in_plain_nobody_takes_a_client_over_from_another_address() {
    let mut scene = ByHand::open(|_| ());
    let mut client = scene.client();
    let (snid, home) = (client.snid, client.address);
    client.address = scene.address();
    let hello = client.hello(5);
    let said = scene.say(client.address, &hello);
    assert_ne!(Welcome::read(&said[0].1, None).snid, snid);
    client.address = home;
    scene.is_served(&mut client, 0, 1);
}

#[test]
fn the_answer_to_an_rpc_that_waits_goes_where_its_client_is_now() {
    let mut scene = ByHand::open_sealed([9; 32]);
    let mut before = scene.client();
    let mut after = RawClient { address: scene.address(), sealed: 1 << 60, ..before.clone() };
    let hello = after.hello(5);
    let said = scene.say(after.address, &hello);
    after.enter(&Welcome::read(&said[0].1, Some([9; 32])));
    // Both copies come before the RPC begins: one with a deadline is not served before the turn's
    // datagrams are read.
    let request = Packet { budget_us: 1_000_000, ..Packet::whole(0, scene.now_ns(), &job(1, 100, 50)) }.bytes();
    for client in [&mut before, &mut after] {
        let frame = client.frame(&request);
        scene.hand.put(client.address, &frame);
    }
    let answers = scene.hear_each(&[&before, &after]);
    assert_eq!(answers, [vec![], vec![whole(0), reply(0, 1, 50)]]);
    assert_eq!(scene.executed(1), 1);
}
