//! Each rule once kept and once broken.

use super::*;
use crate::schema::fit;

/// Reserves the numbers from 100 on.
struct From100;

impl Reserved for From100 {
    fn field(&self, _: &str, number: u32) -> bool {
        number >= 100
    }

    fn value(&self, _: &str, number: i32) -> bool {
        number >= 100
    }
}

fn message(encoding: Encoding, fields: &[(u32, &str, u32)]) -> Schema {
    let fields = fields.iter().map(|&(number, kind, end)| Field {
        name: format!("f{number}"),
        number,
        kind: kind.into(),
        end,
        removed: false,
    });
    let message = Message { name: "p.M".into(), encoding: encoding.into(), fields: fields.collect() };
    Schema { messages: vec![message], ..Schema::default() }
}

fn method(id: u32, name: &str, request: &str, idempotent: bool) -> Method {
    Method {
        name: name.into(),
        id,
        request: request.into(),
        reply: "p.R".into(),
        idempotent,
        removed: false,
        streams: false,
    }
}

fn service(id: u32, methods: &[Method]) -> Schema {
    Schema { services: vec![Service { name: "p.S".into(), id, methods: methods.to_vec() }], ..Schema::default() }
}

fn values(values: &[(&str, i32)]) -> Schema {
    let values = values.iter().map(|&(name, number)| Value { name: name.into(), number, removed: false });
    Schema { enums: vec![Enum { name: "p.E".into(), values: values.collect() }], ..Schema::default() }
}

/// The next lock, which fits the previous one.
#[track_caller]
fn allowed(was: &Schema, is: &Schema) -> Schema {
    let next = advance(was, is, &From100).unwrap();
    assert_eq!(fit(was, is), Ok(()));
    assert_eq!(advance(&next, is, &From100).as_ref(), Ok(&next), "what is locked changes no more");
    next
}

#[track_caller]
fn refused(was: &Schema, is: &Schema) -> String {
    let refused = advance(was, is, &From100).unwrap_err();
    assert_eq!(refused.len(), 1, "{refused:?}");
    refused[0].clone()
}

#[test]
fn line_messages_only_grow_at_their_end() {
    let was = message(Encoding::Line, &[(1, "uint64", 8), (2, "uint32", 12)]);
    allowed(&was, &message(Encoding::Line, &[(1, "uint64", 8), (2, "uint32", 12), (5, "bool", 13)]));
    let dropped = refused(&was, &message(Encoding::Line, &[(1, "uint64", 8)]));
    assert!(dropped.starts_with("p.M: field 2 (`f2`) is missing"), "{dropped}");
    let inserted = refused(&was, &message(Encoding::Line, &[(1, "uint64", 8), (3, "uint32", 12)]));
    assert!(inserted.starts_with("p.M: field 2 (`f2`) is missing"), "{inserted}");
    let other = refused(&was, &message(Encoding::Line, &[(1, "uint64", 8), (2, "int64", 16)]));
    assert!(other.contains("has been uint32 up to byte 12 and is int64 up to byte 16"), "{other}");
    // The message within it has grown.
    assert!(!refused(&was, &message(Encoding::Line, &[(1, "uint64", 8), (2, "uint32", 20)])).is_empty());
}

#[test]
fn an_encoding_stays() {
    let was = message(Encoding::Line, &[(1, "uint64", 8)]);
    assert!(refused(&was, &message(Encoding::Proto, &[(1, "uint64", 0)])).contains("has been encoded as LINE"));
}

#[test]
fn a_number_of_protobuf_keeps_its_type_also_after_its_removal() {
    let was = message(Encoding::Proto, &[(1, "string", 0), (100, "uint64", 0)]);
    allowed(&was, &message(Encoding::Proto, &[(1, "string", 0), (2, "bool", 0), (100, "uint64", 0)]));
    assert!(
        refused(&was, &message(Encoding::Proto, &[(1, "bytes", 0), (100, "uint64", 0)])).contains("another number")
    );
    assert!(refused(&was, &message(Encoding::Proto, &[(100, "uint64", 0)])).ends_with("add `reserved 1;`"));
    let without = allowed(&was, &message(Encoding::Proto, &[(1, "string", 0)]));
    assert!(without.messages[0].fields[1].removed);
    assert!(refused(&without, &message(Encoding::Proto, &[(1, "string", 0), (100, "bool", 0)])).contains("field 100"));
}

#[test]
fn a_method_keeps_its_number_also_after_its_removal() {
    let (get, set) = (method(1, "Get", "p.G", true), method(2, "Set", "p.S", false));
    let was = service(7, &[get.clone(), set.clone()]);
    allowed(&was, &service(7, &[get.clone(), set.clone(), method(3, "Delete", "p.D", false)]));
    let without = allowed(&was, &service(7, std::slice::from_ref(&set)));
    assert!(without.services[0].methods[0].removed);
    let reused = refused(&without, &service(7, &[method(1, "Delete", "p.D", false), set.clone()]));
    assert_eq!(reused, "p.S: method 1 has been Get(p.G) returns (p.R): give Delete another number");
    allowed(&without, &was);
    assert!(refused(&was, &service(8, &[get.clone(), set.clone()])).contains("(nebula.service_id) = 7"));
    assert!(refused(&was, &service(7, &[method(1, "Get", "p.G", false), set.clone()])).contains("may repeat Get"));
    allowed(&was, &service(7, &[get, method(2, "Set", "p.S", true)]));
    assert!(allowed(&was, &Schema::default()).services[0].methods.iter().all(|method| method.removed));
}

#[test]
fn a_value_keeps_its_number() {
    let was = values(&[("A", 0), ("B", 1), ("C", 100)]);
    allowed(&was, &values(&[("A", 0), ("RENAMED", 1), ("C", 100), ("D", 2)]));
    assert!(allowed(&was, &values(&[("A", 0), ("B", 1)])).enums[0].values[2].removed);
    assert!(refused(&was, &values(&[("A", 0), ("C", 100)])).ends_with("add `reserved 1;`"));
    assert!(refused(&was, &values(&[("A", 0), ("B", 1), ("C", 101), ("X", 100)])).contains("keep its number"));
}
