//! Messages of protobuf's encoding, by prost.

use super::fields;
use super::names::{TYPED, path, value};
use crate::error::Error;
use crate::options;
use crate::read::Files;
use protox::prost_reflect::{Kind, MessageDescriptor};
use std::collections::BTreeMap;
use std::fmt::Write;

pub(super) fn packages(files: &Files) -> Result<BTreeMap<String, String>, Error> {
    let mut config = prost_build::Config::new();
    config.prost_path(format!("{TYPED}::prost"));
    for message in files.own().flat_map(|file| file.messages().collect::<Vec<_>>()) {
        if files.encodings.ends(&message).is_some() {
            // Nebula's own code has it. No message of prost's contains it, so the path is not used.
            config.extern_path(format!(".{}", message.full_name()), "()");
        }
    }
    let request = |file: protox::prost_reflect::FileDescriptor| {
        let module = prost_build::Module::from_protobuf_package_name(file.package_name());
        (module, file.file_descriptor_proto().clone())
    };
    let texts = config.generate(files.own().map(request).collect()).map_err(Error::Prost)?;
    Ok(texts.into_iter().map(|(module, text)| (module.to_file_name_or("_"), text)).collect())
}

/// Makes prost's struct a message of a typed service.
pub(super) fn append(text: &mut String, message: &MessageDescriptor) {
    let name = path(message.full_name(), message.package_name(), message.package_name());
    let key_hash = key(message).map_or_else(String::new, |bytes| {
        format!("    fn key_hash(&self) -> u32 {{\n        {TYPED}::key_hash({bytes})\n    }}\n")
    });
    let _ = write!(text, "impl {TYPED}::Message for {name} {{\n    type As = {TYPED}::Proto;\n{key_hash}}}\n");
    fields::append(text, message, &name);
    for inner in message.child_messages().filter(|inner| !inner.is_map_entry()) {
        append(text, &inner);
    }
}

fn key(message: &MessageDescriptor) -> Option<String> {
    let field = message.fields().find(options::is_key)?;
    let name = value(field.name());
    Some(match field.kind() {
        Kind::String => format!("self.{name}.as_bytes()"),
        Kind::Bytes => format!("&self.{name}"),
        _ => format!("&self.{name}.to_le_bytes()"),
    })
}
