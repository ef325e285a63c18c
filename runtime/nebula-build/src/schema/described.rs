//! The types of `nebula/schema.proto`.

use prost::Message as _;
use siphasher::sip::SipHasher24;
use std::hash::Hasher;

/// Services, and all messages and enums that they use.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Schema {
    /// In the order of the file.
    #[prost(message, repeated, tag = "1")]
    pub services: Vec<Service>,
    /// In the order of their names.
    #[prost(message, repeated, tag = "2")]
    pub messages: Vec<Message>,
    /// In the order of their names.
    #[prost(message, repeated, tag = "3")]
    pub enums: Vec<Enum>,
}

/// A service.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Service {
    /// With its package.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Its number in each request, 1 to 65,535.
    #[prost(uint32, tag = "2")]
    pub id: u32,
    /// In the order of their numbers.
    #[prost(message, repeated, tag = "3")]
    pub methods: Vec<Method>,
}

/// A method of a service.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Method {
    /// As the `.proto` writes it.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Its number in each request, 1 to 4,095.
    #[prost(uint32, tag = "2")]
    pub id: u32,
    /// Name of the request's message, with its package.
    #[prost(string, tag = "3")]
    pub request: String,
    /// Name of the reply's message, with its package.
    #[prost(string, tag = "4")]
    pub reply: String,
    /// Whether it may be executed more than once without harm.
    #[prost(bool, tag = "5")]
    pub idempotent: bool,
    /// Removed from the `.proto`; its number stays taken. In lock files only.
    #[prost(bool, tag = "6")]
    pub removed: bool,
    /// Whether its reply is a stream.
    #[prost(bool, tag = "7")]
    pub streams: bool,
}

/// A message.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Message {
    /// With its package.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Never [`Encoding::Auto`].
    #[prost(enumeration = "Encoding", tag = "2")]
    pub encoding: i32,
    /// In the order of their numbers.
    #[prost(message, repeated, tag = "3")]
    pub fields: Vec<Field>,
}

/// A field of a message.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Field {
    /// As the `.proto` writes it.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Protobuf's number.
    #[prost(uint32, tag = "2")]
    pub number: u32,
    /// Its type as the `.proto` writes it, with the length of a fixed one: `uint64`, `bytes[16]`,
    /// `repeated shop.Item`.
    #[prost(string, tag = "3")]
    pub kind: String,
    /// [`Encoding::Line`]: its end, in bytes from the message's first; 0 otherwise.
    #[prost(uint32, tag = "4")]
    pub end: u32,
    /// Removed from the `.proto`; its number stays taken. In lock files only.
    #[prost(bool, tag = "5")]
    pub removed: bool,
}

/// An enum.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Enum {
    /// With its package.
    #[prost(string, tag = "1")]
    pub name: String,
    /// In the order of the file.
    #[prost(message, repeated, tag = "2")]
    pub values: Vec<Value>,
}

/// A value of an enum.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Value {
    /// As the `.proto` writes it.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Its number.
    #[prost(sint32, tag = "2")]
    pub number: i32,
    /// Removed from the `.proto`; its number stays taken. In lock files only.
    #[prost(bool, tag = "3")]
    pub removed: bool,
}

/// The layout of a message's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum Encoding {
    /// In a `.proto`: by its fields. Never in a schema, which has the choice.
    Auto = 0,
    /// Little-endian fields one behind the other, in the order of their numbers: read in place.
    Line = 1,
    /// Protobuf's own encoding.
    Proto = 2,
}

impl Encoding {
    /// Its name in a `.proto`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "AUTO",
            Self::Line => "LINE",
            Self::Proto => "PROTO",
        }
    }
}

/// A hash of a schema: two schemas with the same fingerprint count as the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint(pub u64);

impl Fingerprint {
    /// The SipHash-2-4 of an encoded schema, with the key 0.
    #[must_use]
    pub fn of(encoded: &[u8]) -> Self {
        let mut hasher = SipHasher24::new();
        hasher.write(encoded);
        Self(hasher.finish())
    }
}

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl Method {
    /// The part that two ends must agree on, as a `.proto` writes it.
    #[must_use]
    pub fn signature(&self) -> String {
        let stream = if self.streams { "stream " } else { "" };
        format!("{}({}) returns ({stream}{})", self.name, self.request, self.reply)
    }
}

impl Schema {
    /// Its bytes, in protobuf's encoding: the same for the same schema.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.encode_to_vec()
    }

    /// Decodes a schema.
    ///
    /// # Errors
    ///
    /// `bytes` are no schema.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, prost::DecodeError> {
        Self::decode(bytes)
    }

    /// The service of that name.
    #[must_use]
    pub fn service(&self, name: &str) -> Option<&Service> {
        self.services.iter().find(|service| service.name == name)
    }

    /// The message of that name.
    #[must_use]
    pub fn message(&self, name: &str) -> Option<&Message> {
        self.messages.iter().find(|message| message.name == name)
    }

    /// The enum of that name.
    #[must_use]
    pub fn enumeration(&self, name: &str) -> Option<&Enum> {
        self.enums.iter().find(|one| one.name == name)
    }
}
