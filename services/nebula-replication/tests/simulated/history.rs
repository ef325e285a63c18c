//! What clients asked and were told, in the order in which it happened, and whether one order of
//! all operations explains it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use stateright::semantics::register::{Register, RegisterOp, RegisterRet};
use stateright::semantics::{ConsistencyTester, LinearizabilityTester};

/// The value of a key: one that no other write has, or nothing.
pub(crate) type Value = Option<u64>;

/// An operation on one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Write(Value),
    Read,
}

/// A client that has one operation under way at a time. One whose write's fate is unknown asks no
/// more.
type Client = u64;

#[derive(Clone, Copy, Debug)]
enum Event {
    Asked(Client, Op),
    Written(Client),
    Read(Client, Value),
}

/// Events by key. Clones are the same history.
#[derive(Clone, Debug, Default)]
pub(crate) struct History(Arc<Mutex<BTreeMap<u64, Vec<Event>>>>);

impl History {
    fn note(&self, key: u64, event: Event) {
        self.0.lock().unwrap().entry(key).or_default().push(event);
    }

    pub(crate) fn asked(&self, client: Client, key: u64, op: Op) {
        self.note(key, Event::Asked(client, op));
    }

    pub(crate) fn written(&self, client: Client, key: u64) {
        self.note(key, Event::Written(client));
    }

    pub(crate) fn read(&self, client: Client, key: u64, value: Value) {
        self.note(key, Event::Read(client, value));
    }

    /// Operations that were answered.
    pub(crate) fn answered(&self) -> usize {
        let events = self.0.lock().unwrap();
        events.values().flatten().filter(|event| !matches!(event, Event::Asked(..))).count()
    }

    /// Whether each key is a register that all operations were done on at once each, at a moment
    /// between question and answer. A history of several registers is linearizable if that of each
    /// is.
    pub(crate) fn is_linearizable(&self) -> bool {
        self.0.lock().unwrap().values().all(|events| is_of_a_register(events))
    }
}

fn is_of_a_register(events: &[Event]) -> bool {
    let mut tester = LinearizabilityTester::<Client, _>::new(Register(None::<u64>));
    for &event in events {
        let noted = match event {
            Event::Asked(client, Op::Write(value)) => tester.on_invoke(client, RegisterOp::Write(value)),
            Event::Asked(client, Op::Read) => tester.on_invoke(client, RegisterOp::Read),
            Event::Written(client) => tester.on_return(client, RegisterRet::WriteOk),
            Event::Read(client, value) => tester.on_return(client, RegisterRet::ReadOk(value)),
        };
        noted.expect("each client has one operation at a time");
    }
    tester.is_consistent()
}
