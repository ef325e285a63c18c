//! Messages between replicas: what is read is what was written, and anything else is refused.

use nebula_replication::machine::Room;
use nebula_replication::wire::{Message, Sender, WireError, decode, decode_answer, encode};
use openraft::Vote;
use openraft::raft::VoteRequest;

use crate::simulated::ROOM;

fn vote() -> Message {
    Message::Vote(VoteRequest::new(Vote::new(3, 7), None))
}

#[test]
fn a_message_is_read_as_it_was_written() {
    for message in [vote(), Message::List, Message::Add("udp://10.0.0.9:1".to_owned())] {
        let bytes = encode(Sender::Replica(ROOM), &message).unwrap();
        assert_eq!(format!("{:?}", decode(&bytes, ROOM).unwrap()), format!("{message:?}"));
    }
}

#[test]
fn a_replica_with_another_room_is_refused_and_an_administrator_is_not_asked_for_one() {
    let other = Room { items_max: ROOM.items_max + 1, ..ROOM };
    let from_other = encode(Sender::Replica(other), &vote()).unwrap();
    assert!(matches!(decode(&from_other, ROOM), Err(WireError::Room)));
    let from_nobody = encode(Sender::Administrator, &vote()).unwrap();
    assert!(matches!(decode(&from_nobody, ROOM), Err(WireError::Room)));
    assert!(decode(&encode(Sender::Administrator, &Message::List).unwrap(), ROOM).is_ok());
}

#[test]
fn what_is_cut_longer_or_of_another_version_is_refused() {
    let bytes = encode(Sender::Replica(ROOM), &vote()).unwrap();
    for cut in 0..bytes.len() {
        assert!(decode(&bytes[..cut], ROOM).is_err(), "{cut} bytes");
    }
    let longer = [&bytes[..], &[0]].concat();
    assert!(matches!(decode(&longer, ROOM), Err(WireError::NotAMessage)));
    let mut later = bytes;
    later[1] = 2;
    assert!(matches!(decode(&later, ROOM), Err(WireError::Version { got: 2 })));
    assert!(decode_answer(&[255; 40]).is_err());
}
