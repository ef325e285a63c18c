//! Whether a client and a server with two schemas understand each other.

use crate::schema::{Encoding, Enum, Field, Message, Schema, Service};

/// Why two schemas do not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit(String);

impl std::fmt::Display for Misfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Misfit {}

/// Checks that each end reads the other's messages as they were meant.
///
/// A declaration of one end alone is no misfit: a server answers a method that it lacks with an
/// error, and a missing field is zero. Names of fields and values may differ, as in protobuf: the
/// bytes have none.
///
/// # Errors
///
/// The first [`Misfit`] found.
pub fn fit(one: &Schema, other: &Schema) -> Result<(), Misfit> {
    for (a, b) in pairs(&one.services, &other.services, |service| &service.name) {
        services_fit(a, b)?;
    }
    for (a, b) in pairs(&one.messages, &other.messages, |message| &message.name) {
        messages_fit(a, b)?;
    }
    for (a, b) in pairs(&one.enums, &other.enums, |one| &one.name) {
        enums_fit(a, b)?;
    }
    Ok(())
}

/// The elements that both have, by name.
fn pairs<'a, T>(one: &'a [T], other: &'a [T], name: fn(&T) -> &String) -> impl Iterator<Item = (&'a T, &'a T)> {
    one.iter().filter_map(move |a| Some((a, other.iter().find(|b| name(a) == name(b))?)))
}

fn services_fit(a: &Service, b: &Service) -> Result<(), Misfit> {
    if a.id != b.id {
        return Err(Misfit(format!("{} has the number {} at one end and {} at the other", a.name, a.id, b.id)));
    }
    for method in a.methods.iter().filter(|method| !method.removed) {
        let Some(other) = b.methods.iter().find(|other| other.id == method.id && !other.removed) else { continue };
        let (this, that) = (method.signature(), other.signature());
        if this != that {
            return Err(Misfit(format!(
                "{}: method {} is {this} at one end and {that} at the other",
                a.name, method.id
            )));
        }
    }
    Ok(())
}

fn messages_fit(a: &Message, b: &Message) -> Result<(), Misfit> {
    if a.encoding != b.encoding {
        let (one, other) = (a.encoding().name(), b.encoding().name());
        return Err(Misfit(format!("{} is encoded as {one} at one end and as {other} at the other", a.name)));
    }
    let differ = |x: &Field, y: &Field| {
        let number = if x.number == y.number { x.number.to_string() } else { format!("{} or {}", x.number, y.number) };
        Err(Misfit(format!("{}: field {number} is {} at one end and {} at the other", a.name, says(x), says(y))))
    };
    match a.encoding() {
        // The bytes have no numbers: the fields of the shorter one are the first of the longer one.
        Encoding::Line => {
            a.fields.iter().zip(&b.fields).find(|(x, y)| (x.number, &x.kind, x.end) != (y.number, &y.kind, y.end))
        }
        Encoding::Proto | Encoding::Auto => pairs_by_number(&a.fields, &b.fields).find(|(x, y)| x.kind != y.kind),
    }
    .map_or(Ok(()), |(x, y)| differ(x, y))
}

/// A field, for people.
fn says(field: &Field) -> String {
    let end = if field.end > 0 { format!(", up to byte {}", field.end) } else { String::new() };
    format!("`{}` ({}{end})", field.name, field.kind)
}

fn pairs_by_number<'a>(one: &'a [Field], other: &'a [Field]) -> impl Iterator<Item = (&'a Field, &'a Field)> {
    one.iter().filter_map(move |x| Some((x, other.iter().find(|y| x.number == y.number)?)))
}

fn enums_fit(a: &Enum, b: &Enum) -> Result<(), Misfit> {
    // One name with two numbers would be misread; two names of one number are a new name.
    let moved = a.values.iter().find_map(|x| {
        let y = b.values.iter().find(|y| x.name == y.name && !x.removed && !y.removed)?;
        (x.number != y.number).then_some((x, y))
    });
    moved.map_or(Ok(()), |(x, y)| {
        Err(Misfit(format!("{}: {} is {} at one end and {} at the other", a.name, x.name, x.number, y.number)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Method, Value};

    fn field(number: u32, kind: &str) -> Field {
        Field { name: format!("f{number}"), number, kind: kind.into(), end: 0, removed: false }
    }

    fn message(encoding: Encoding, fields: &[(u32, &str)]) -> Schema {
        let fields = fields.iter().map(|&(number, kind)| field(number, kind)).collect();
        let message = Message { name: "p.M".into(), encoding: encoding.into(), fields };
        Schema { messages: vec![message], ..Schema::default() }
    }

    fn service(id: u32, methods: &[(u32, &str, &str)]) -> Schema {
        let methods = methods.iter().map(|&(id, name, request)| Method {
            name: name.into(),
            id,
            request: request.into(),
            reply: "p.R".into(),
            ..Method::default()
        });
        let service = Service { name: "p.S".into(), id, methods: methods.collect() };
        Schema { services: vec![service], ..Schema::default() }
    }

    /// The misfit, the same from both ends.
    fn both_ways(one: &Schema, other: &Schema) -> Option<Misfit> {
        let (there, back) = (fit(one, other), fit(other, one));
        assert_eq!(there.is_ok(), back.is_ok());
        there.err()
    }

    #[test]
    fn line_messages_fit_while_one_begins_with_the_other() {
        let shorter = message(Encoding::Line, &[(1, "uint64")]);
        let longer = message(Encoding::Line, &[(1, "uint64"), (2, "bytes[4]")]);
        assert_eq!(both_ways(&shorter, &longer), None);
        for other in [&[(1, "int64")][..], &[(2, "uint64")], &[(1, "uint32"), (2, "uint64")]] {
            assert!(both_ways(&longer, &message(Encoding::Line, other)).is_some(), "{other:?}");
        }
    }

    #[test]
    fn messages_of_protobuf_fit_while_common_numbers_have_one_type() {
        let one = message(Encoding::Proto, &[(1, "string"), (2, "uint64")]);
        assert_eq!(both_ways(&one, &message(Encoding::Proto, &[(2, "uint64"), (3, "string")])), None);
        assert!(both_ways(&one, &message(Encoding::Proto, &[(2, "string")])).is_some());
        assert!(both_ways(&one, &message(Encoding::Line, &[(1, "string"), (2, "uint64")])).is_some());
    }

    #[test]
    fn a_method_may_be_missing_but_not_be_another() {
        let one = service(7, &[(1, "Get", "p.G"), (2, "Set", "p.S")]);
        assert_eq!(both_ways(&one, &service(7, &[(2, "Set", "p.S"), (3, "Delete", "p.D")])), None);
        let renumbered = both_ways(&one, &service(7, &[(1, "Set", "p.S")])).unwrap();
        assert_eq!(
            renumbered.to_string(),
            "p.S: method 1 is Get(p.G) returns (p.R) at one end and Set(p.S) returns (p.R) at the other"
        );
        assert!(both_ways(&one, &service(8, &[])).is_some());
        let mut streams = one.clone();
        streams.services[0].methods[0].streams = true;
        assert!(both_ways(&one, &streams).is_some());
    }

    #[test]
    fn a_value_may_get_another_name_but_no_other_number() {
        let of = |values: &[(&str, i32)]| {
            let values = values.iter().map(|&(name, number)| Value { name: name.into(), number, removed: false });
            Schema { enums: vec![Enum { name: "p.E".into(), values: values.collect() }], ..Schema::default() }
        };
        let one = of(&[("A", 0), ("B", 1)]);
        assert_eq!(both_ways(&one, &of(&[("A", 0), ("C", 1), ("D", 2)])), None);
        assert!(both_ways(&one, &of(&[("A", 0), ("B", 2)])).is_some());
    }
}
