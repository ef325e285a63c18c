//! The schema of a file and its imports, by which peers are compared.

use super::encodings::{Encodings, in_order};
use super::services;
use crate::options;
use crate::schema::{Enum, Field, Message, Schema, Value};
use protox::prost_reflect::{EnumDescriptor, FieldDescriptor, FileDescriptor, Kind, MessageDescriptor};

pub(super) fn of(
    files: impl Iterator<Item = FileDescriptor>,
    encodings: &Encodings,
    faults: &mut Vec<String>,
) -> Schema {
    let mut schema = Schema::default();
    for file in files {
        schema.services.extend(file.services().map(|one| services::service(&one, faults)));
        file.messages().for_each(|one| messages(&one, encodings, &mut schema, faults));
        schema.enums.extend(file.enums().map(|one| enumeration(&one)));
    }
    schema.services.sort_by(|a, b| a.name.cmp(&b.name));
    schema.messages.sort_by(|a, b| a.name.cmp(&b.name));
    schema.enums.sort_by(|a, b| a.name.cmp(&b.name));
    schema
}

fn messages(message: &MessageDescriptor, encodings: &Encodings, schema: &mut Schema, faults: &mut Vec<String>) {
    check_key(message, faults);
    let ends = encodings.ends(message);
    let field = |(at, field): (usize, FieldDescriptor)| Field {
        name: field.name().into(),
        number: field.number(),
        kind: kind(&field, ends.is_some()),
        end: ends.map_or(0, |ends| ends[at]),
        removed: false,
    };
    let fields = in_order(message).into_iter().enumerate().map(field).collect();
    let encoding = encodings.encoding(message).into();
    schema.messages.push(Message { name: message.full_name().into(), encoding, fields });
    schema.enums.extend(message.child_enums().map(|one| enumeration(&one)));
    message
        .child_messages()
        .filter(|one| !one.is_map_entry())
        .for_each(|one| messages(&one, encodings, schema, faults));
}

/// A field's type, as a `.proto` writes it. The length of a line's field is part of it.
fn kind(field: &FieldDescriptor, is_line: bool) -> String {
    if field.is_map() {
        let entry = field.kind().as_message().map(|entry| (entry.map_entry_key_field(), entry.map_entry_value_field()));
        return entry
            .map_or_else(String::new, |(key, value)| format!("map<{}, {}>", kind(&key, false), kind(&value, false)));
    }
    let one = match field.kind() {
        Kind::Message(message) => message.full_name().into(),
        Kind::Enum(one) => one.full_name().into(),
        kind => scalar(&kind).into(),
    };
    match options::len(field).filter(|_| is_line) {
        Some(len) => format!("{one}[{len}]"),
        None if field.is_list() => format!("repeated {one}"),
        None => one,
    }
}

const fn scalar(kind: &Kind) -> &'static str {
    match kind {
        Kind::Double => "double",
        Kind::Float => "float",
        Kind::Int32 => "int32",
        Kind::Int64 => "int64",
        Kind::Uint32 => "uint32",
        Kind::Uint64 => "uint64",
        Kind::Sint32 => "sint32",
        Kind::Sint64 => "sint64",
        Kind::Fixed32 => "fixed32",
        Kind::Fixed64 => "fixed64",
        Kind::Sfixed32 => "sfixed32",
        Kind::Sfixed64 => "sfixed64",
        Kind::Bool => "bool",
        Kind::String => "string",
        Kind::Bytes => "bytes",
        Kind::Message(_) => "message",
        Kind::Enum(_) => "enum",
    }
}

/// At most one field is the key, and it is an integer, bytes or a string.
fn check_key(message: &MessageDescriptor, faults: &mut Vec<String>) {
    let keys: Vec<_> = message.fields().filter(options::is_key).collect();
    if keys.len() > 1 {
        faults.push(format!("{} has {} keys, and an RPC is about one", message.full_name(), keys.len()));
    }
    for key in keys {
        let is_plain =
            !matches!(key.kind(), Kind::Message(_) | Kind::Enum(_) | Kind::Bool | Kind::Float | Kind::Double);
        if !is_plain || key.is_list() || key.is_map() || key.containing_oneof().is_some() {
            faults.push(format!("{} cannot be the key: a key is one integer, `bytes` or `string`", key.full_name()));
        }
    }
}

fn enumeration(one: &EnumDescriptor) -> Enum {
    let value = |name: &str, number| Value { name: name.into(), number, removed: false };
    let values = one.values().map(|one| value(one.name(), one.number())).collect();
    Enum { name: one.full_name().into(), values }
}
