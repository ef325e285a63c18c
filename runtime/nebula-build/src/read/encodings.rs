//! The encoding of each message: a line of fixed fields if possible.

use crate::options;
use crate::schema::Encoding;
use protox::prost_reflect::{Cardinality, EnumDescriptor, FieldDescriptor, FileDescriptor, Kind, MessageDescriptor};
use std::collections::{BTreeMap, BTreeSet};

/// The messages of the encoding [`Encoding::Line`]. All others have protobuf's.
#[derive(Debug, Default)]
pub(crate) struct Encodings {
    /// By the message's name: the end of each field in bytes, in the order of their numbers.
    ends: BTreeMap<String, Vec<u32>>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fixed {
    /// A type of `zerocopy::little_endian`, and its bytes.
    Number(&'static str, u32),
    Bool,
    Bytes(u32),
    Text(u32),
    Enum(EnumDescriptor),
    Message(MessageDescriptor),
}

const LINE_BYTES_MAX: u32 = 1 << 20;
/// The length of a text has two bytes.
const TEXT_BYTES_MAX: u32 = u16::MAX as u32;

pub(crate) fn kind(field: &FieldDescriptor) -> Option<Fixed> {
    // The encoding has no bit for absence.
    let is_absent = field.containing_oneof().is_some();
    if is_absent || field.cardinality() != Cardinality::Optional {
        return None;
    }
    Some(match field.kind() {
        Kind::Double => Fixed::Number("F64", 8),
        Kind::Float => Fixed::Number("F32", 4),
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => Fixed::Number("I32", 4),
        Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => Fixed::Number("I64", 8),
        Kind::Uint32 | Kind::Fixed32 => Fixed::Number("U32", 4),
        Kind::Uint64 | Kind::Fixed64 => Fixed::Number("U64", 8),
        Kind::Bool => Fixed::Bool,
        Kind::Bytes => Fixed::Bytes(options::len(field)?),
        Kind::String => Fixed::Text(options::len(field)?),
        Kind::Enum(kind) => Fixed::Enum(kind),
        Kind::Message(message) => Fixed::Message(message),
    })
}

pub(crate) fn in_order(message: &MessageDescriptor) -> Vec<FieldDescriptor> {
    let mut fields: Vec<_> = message.fields().collect();
    fields.sort_by_key(FieldDescriptor::number);
    fields
}

impl Encodings {
    /// Chooses an encoding for each message of the files; adds messages that cannot have theirs to
    /// `faults`.
    pub(super) fn of(files: impl Iterator<Item = FileDescriptor>, faults: &mut Vec<String>) -> Self {
        let messages: Vec<_> = files.flat_map(|file| file.messages().collect::<Vec<_>>()).collect();
        let protos = protos(&messages);
        let mut encodings = Self::default();
        for message in &messages {
            check_lens(message, faults);
            match (options::encoding(message), protos.get(message.full_name())) {
                (Encoding::Line, Some(cause)) => {
                    faults.push(format!("{} cannot have the encoding LINE: {cause}", message.full_name()));
                }
                (_, Some(_)) => {}
                (_, None) => _ = encodings.ends_of(message, faults),
            }
        }
        encodings
    }

    pub(crate) fn encoding(&self, message: &MessageDescriptor) -> Encoding {
        if self.ends.contains_key(message.full_name()) { Encoding::Line } else { Encoding::Proto }
    }

    /// The ends of a message's fields; `None` for protobuf's encoding.
    pub(crate) fn ends(&self, message: &MessageDescriptor) -> Option<&[u32]> {
        self.ends.get(message.full_name()).map(Vec::as_slice)
    }

    /// Its length; `None` for protobuf's encoding.
    pub(crate) fn bytes(&self, message: &MessageDescriptor) -> Option<u32> {
        self.ends(message).map(|ends| ends.last().copied().unwrap_or(0))
    }

    /// Computes the ends of the fields of a line message; returns its length.
    fn ends_of(&mut self, message: &MessageDescriptor, faults: &mut Vec<String>) -> u32 {
        if let Some(bytes) = self.bytes(message) {
            return bytes;
        }
        let (mut end, mut ends) = (0_u32, Vec::new());
        for field in in_order(message) {
            end = end.saturating_add(match kind(&field) {
                Some(Fixed::Number(_, bytes)) => bytes,
                Some(Fixed::Bool) => 1,
                Some(Fixed::Bytes(bytes)) => bytes,
                Some(Fixed::Text(bytes)) => bytes.saturating_add(2),
                Some(Fixed::Enum(_)) => 4,
                Some(Fixed::Message(inner)) => self.ends_of(&inner, faults),
                None => 0,
            });
            ends.push(end);
        }
        if end > LINE_BYTES_MAX {
            faults.push(format!(
                "{} has {end} bytes, and a message of the encoding LINE at most {LINE_BYTES_MAX}: set (nebula.encoding) = PROTO",
                message.full_name()
            ));
        }
        self.ends.insert(message.full_name().into(), ends);
        end
    }
}

/// The messages that protobuf encodes, each with the reason. Messages that contain one of them, or
/// are contained in one, are such messages too.
fn protos(messages: &[MessageDescriptor]) -> BTreeMap<String, String> {
    let mut protos: BTreeMap<String, String> = BTreeMap::new();
    for message in messages {
        if let Some(cause) = own_cause(message) {
            protos.insert(message.full_name().into(), cause);
        }
    }
    loop {
        let mut found = Vec::new();
        for message in messages {
            let name = message.full_name();
            for inner in message.fields().filter_map(|field| field.kind().as_message().cloned()) {
                let inner = inner.full_name();
                if protos.contains_key(name) && !protos.contains_key(inner) {
                    found.push((inner.to_string(), format!("{name} contains it, which protobuf encodes")));
                } else if protos.contains_key(inner) && !protos.contains_key(name) {
                    found.push((name.to_string(), format!("it contains {inner}, which protobuf encodes")));
                }
            }
        }
        if found.is_empty() {
            return protos;
        }
        // Any reason will do.
        found.into_iter().for_each(|(name, cause)| _ = protos.entry(name).or_insert(cause));
    }
}

/// The reason in the message itself, if protobuf encodes it.
fn own_cause(message: &MessageDescriptor) -> Option<String> {
    if options::encoding(message) == Encoding::Proto {
        return Some("(nebula.encoding) is PROTO".into());
    }
    if message.child_messages().next().is_some() {
        return Some("messages are declared within it: declare them beside it".into());
    }
    if message.parent_file().package_name() == "google.protobuf" {
        return Some("it is Google's".into());
    }
    if contains_itself(message, &mut BTreeSet::new()) {
        return Some("it contains itself".into());
    }
    let field = message.fields().find(|field| kind(field).is_none())?;
    Some(format!("the size of its field `{}` is not fixed", field.name()))
}

fn contains_itself(message: &MessageDescriptor, around: &mut BTreeSet<String>) -> bool {
    if !around.insert(message.full_name().into()) {
        return true;
    }
    let inner: Vec<_> = message.fields().filter_map(|field| field.kind().as_message().cloned()).collect();
    let is_recursive = inner.iter().any(|inner| contains_itself(inner, around));
    around.remove(message.full_name());
    is_recursive
}

fn check_lens(message: &MessageDescriptor, faults: &mut Vec<String>) {
    for field in message.fields() {
        let most = match field.kind() {
            Kind::Bytes => LINE_BYTES_MAX,
            Kind::String => TEXT_BYTES_MAX,
            _ => 0,
        };
        match options::len(&field) {
            Some(_) if most == 0 => {
                faults.push(format!("{}: (nebula.len) is for `bytes` and `string`", field.full_name()));
            }
            Some(len) if len == 0 || len > most => {
                faults.push(format!("{}: (nebula.len) is {len}, and has to be 1 to {most}", field.full_name()));
            }
            _ => {}
        }
    }
}
