//! Plain fields of messages of protobuf's encoding, which are read and written without prost.

use super::names::{TYPED, value};
use protox::prost_reflect::{FieldDescriptor, Kind, MessageDescriptor};
use std::fmt::Write;

/// The largest number whose key is one byte.
const NUMBER_MAX: u32 = 15;

/// Wire types.
const VARINT: u32 = 0;
const FIXED64: u32 = 1;
const DELIMITED: u32 = 2;
const FIXED32: u32 = 5;

/// A plain field: its number, and code that reads it from `rest`, reads it if `rest` begins with
/// it, and writes it to `to`.
struct Plain {
    number: u32,
    read: String,
    read_if: String,
    put: String,
}

/// Appends the code that reads and writes the message `name`.
pub(super) fn append(text: &mut String, message: &MessageDescriptor, name: &str) {
    let mut fields: Vec<_> = message.fields().filter_map(|field| plain(&field)).collect();
    // As protobuf's own libraries write them.
    fields.sort_by_key(|field| field.number);
    let _ = writeln!(text, "impl {TYPED}::fields::Fields for {name} {{");
    if message.fields().any(|field| owns(&field)) {
        append_spare(text, name);
    }
    if !fields.is_empty() {
        append_merge(text, &fields);
    }
    if fields.len() == message.fields().len() {
        text.push_str("    #[inline(always)]\n    fn clear_others(&mut self) {}\n");
        append_put(text, &fields);
    }
    text.push_str("}\n");
}

/// Whether a field's value is allocated.
fn owns(field: &FieldDescriptor) -> bool {
    field.is_list() || field.is_map() || matches!(field.kind(), Kind::String | Kind::Bytes | Kind::Message(_))
}

fn append_spare(text: &mut String, name: &str) {
    let _ = write!(
        text,
        r"    #[inline(always)]
    fn spare() -> ::core::option::Option<&'static {TYPED}::fields::Spare<Self>> {{
        ::std::thread_local! {{
            static SPARE: ::core::cell::RefCell<{name}> = ::core::default::Default::default();
        }}
        ::core::option::Option::Some(&SPARE)
    }}
"
    );
}

fn append_merge(text: &mut String, fields: &[Plain]) {
    let arms: String = fields.iter().map(|Plain { read, .. }| format!("            {read},\n")).collect();
    let in_order: String = fields.iter().map(|Plain { read_if, .. }| format!("        {read_if}?;\n")).collect();
    let _ = write!(
        text,
        r"    #[inline(always)]
    fn read_in_order(&mut self, rest: &mut &[u8]) -> ::core::option::Option<()> {{
{in_order}        ::core::option::Option::Some(())
    }}
    #[inline(always)]
    fn merge_plain(&mut self, key: u8, rest: &mut &[u8]) -> ::core::option::Option<bool> {{
        match key {{
{arms}            _ => return ::core::option::Option::Some(false),
        }}
        ::core::option::Option::Some(true)
    }}
"
    );
}

fn append_put(text: &mut String, fields: &[Plain]) {
    let puts: String = fields.iter().map(|Plain { put, .. }| format!("        {put}?;\n")).collect();
    let to = if fields.is_empty() { "_" } else { "to" };
    let _ = write!(
        text,
        r"    #[inline(always)]
    fn put_plain(&self, {to}: &mut {TYPED}::fields::Short<'_>) -> ::core::option::Option<()> {{
{puts}        ::core::option::Option::Some(())
    }}
"
    );
}

/// The code of a plain field: it is no message, occurs once, always has a value, and its key is one
/// byte.
fn plain(field: &FieldDescriptor) -> Option<Plain> {
    let number = field.number();
    if number > NUMBER_MAX || field.is_list() || field.is_map() || field.supports_presence() {
        return None;
    }
    let name = value(field.name());
    let (wire, take, take_if, put) = match how(&field.kind())? {
        How::Varint(kind) => (
            VARINT,
            format!("self.{name} = {TYPED}::fields::varint::<{TYPED}::fields::{kind}>(rest)?"),
            format!("varint_if::<{TYPED}::fields::{kind}>"),
            format!("varint::<{TYPED}::fields::{kind}>"),
        ),
        How::Fixed(wire) => {
            (wire, format!("self.{name} = {TYPED}::fields::fixed(rest)?"), "fixed_if".to_owned(), "fixed".to_owned())
        }
        How::Text => (
            DELIMITED,
            format!("{TYPED}::fields::string(rest, &mut self.{name})?"),
            "string_if".to_owned(),
            "bytes".to_owned(),
        ),
        How::Bytes => (
            DELIMITED,
            format!("{TYPED}::fields::bytes(rest, &mut self.{name})?"),
            "bytes_if".to_owned(),
            "bytes".to_owned(),
        ),
    };
    let key = number << 3 | wire;
    let given = match field.kind() {
        Kind::String => format!("self.{name}.as_bytes()"),
        Kind::Bytes => format!("&self.{name}"),
        _ => format!("self.{name}"),
    };
    Some(Plain {
        number,
        read: format!("{key} => {take}"),
        read_if: format!("{TYPED}::fields::{take_if}({key}, rest, &mut self.{name})"),
        put: format!("to.{put}({key}, {given})"),
    })
}

enum How {
    /// A type of `nebula_typed::fields`.
    Varint(&'static str),
    /// A wire type.
    Fixed(u32),
    Text,
    Bytes,
}

fn how(kind: &Kind) -> Option<How> {
    Some(match kind {
        Kind::Bool => How::Varint("Bool"),
        Kind::Uint32 => How::Varint("Uint32"),
        Kind::Uint64 => How::Varint("Uint64"),
        Kind::Int32 | Kind::Enum(_) => How::Varint("Int32"),
        Kind::Int64 => How::Varint("Int64"),
        Kind::Sint32 => How::Varint("Sint32"),
        Kind::Sint64 => How::Varint("Sint64"),
        Kind::Double | Kind::Fixed64 | Kind::Sfixed64 => How::Fixed(FIXED64),
        Kind::Float | Kind::Fixed32 | Kind::Sfixed32 => How::Fixed(FIXED32),
        Kind::String => How::Text,
        Kind::Bytes => How::Bytes,
        Kind::Message(_) => return None,
    })
}
