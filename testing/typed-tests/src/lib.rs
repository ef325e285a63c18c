//! The code that is generated for the tests, and services that implement it.

#![forbid(unsafe_code)]

pub mod echo_service;
mod every_service;

pub use every_service::{Adder, EveryService};

/// The descriptors of `every.proto` and of what it imports: an encoded
/// `google.protobuf.FileDescriptorSet`.
pub const EVERY_DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/every.descriptors"));

/// Every type, of both encodings.
#[expect(missing_docs, reason = "fields say what they are by their names")]
pub mod every {
    nebula_typed::include_proto!("tests.every");
}

/// What is measured.
#[expect(missing_docs, reason = "fields say what they are by their names")]
pub mod echo {
    nebula_typed::include_proto!("tests.echo");
}

/// Versions of one service, which differ in one thing each from the first.
pub mod versions {
    macro_rules! versions {
        ($($(#[doc = $what:literal])+ $version:ident;)+) => {
            $(
                $(#[doc = $what])+
                #[expect(missing_docs, reason = "fields say what they are by their names")]
                pub mod $version {
                    include!(concat!(env!("OUT_DIR"), "/", stringify!($version), "/tests.store.rs"));
                }
            )+
        };
    }

    versions! {
        /// What the others differ from.
        base;
        /// Each message has a field more, and the service a method.
        appended;
        /// A field of a line message has another type.
        retyped;
        /// Two methods have each other's numbers.
        reordered;
        /// A line message has become one of protobuf's encoding.
        reencoded;
        /// The service has another number.
        renumbered;
        /// A line message has lost its last field, and the service a method.
        shrunk;
    }
}
