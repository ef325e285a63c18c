//! The lock file of a `.proto`: every number and type that peers may have been built with, as text.

use crate::error::Error;
use crate::read::{Files, OPTIONS, SCHEMA};
use crate::schema::Schema;
use crate::schema::evolution::{self, Reserved};
use protox::file::{ChainFileResolver, GoogleFileResolver};
use protox::prost_reflect::text_format::FormatOptions;
use protox::prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

const BEFORE: &str =
    "# Written by nebula-build, to be checked in: numbers and types that peers may have been built with.\n";

pub(crate) fn path(proto: &Path) -> PathBuf {
    let mut name = proto.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}

/// Compares the files with the lock file, and writes new declarations there, unless it `is_locked`.
pub(crate) fn advance(path: &Path, files: &Files, is_locked: bool) -> Result<(), Error> {
    let lock = path.display().to_string();
    let damaged = |cause: String| Error::Lock { lock: lock.clone(), cause };
    let text = match std::fs::read_to_string(path) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(damaged(error.to_string())),
    };
    let locked = text.as_deref().map(parse).transpose().map_err(damaged)?.unwrap_or_default();
    let next = evolution::advance(&locked, &files.schema, &Declared(&files.pool));
    let next = next.map_err(|changes| Error::Evolution { lock: lock.clone(), changes })?;
    if text.is_some() && next == locked {
        return Ok(());
    }
    if is_locked {
        return Err(Error::Locked { lock });
    }
    std::fs::write(path, print(&next)?).map_err(|cause| Error::Write { path: path.into(), cause })
}

/// The `reserved` numbers of a `.proto`.
struct Declared<'p>(&'p DescriptorPool);

impl Reserved for Declared<'_> {
    fn field(&self, message: &str, number: u32) -> bool {
        let message = self.0.get_message_by_name(message);
        message.is_some_and(|message| message.reserved_ranges().any(|range| range.contains(&number)))
    }

    fn value(&self, enumeration: &str, number: i32) -> bool {
        let one = self.0.get_enum_by_name(enumeration);
        one.is_some_and(|one| one.reserved_ranges().any(|range| range.contains(&number)))
    }
}

fn definition() -> Result<MessageDescriptor, protox::Error> {
    let mut resolver = ChainFileResolver::new();
    resolver.add(SCHEMA);
    resolver.add(OPTIONS);
    resolver.add(GoogleFileResolver::new());
    let mut compiler = protox::Compiler::with_file_resolver(resolver);
    compiler.include_imports(true).open_file("nebula/schema.proto")?;
    let found = compiler.descriptor_pool().get_message_by_name("nebula.Schema");
    found.ok_or_else(|| protox::Error::file_not_found("nebula.Schema"))
}

fn parse(text: &str) -> Result<Schema, String> {
    let definition = definition().map_err(|error| error.to_string())?;
    let message = DynamicMessage::parse_text_format(definition, text).map_err(|error| error.to_string())?;
    message.transcode_to().map_err(|error| error.to_string())
}

fn print(schema: &Schema) -> Result<String, Error> {
    let mut message = DynamicMessage::new(definition()?);
    // A schema is that message: a test prints and parses one with every field.
    message.transcode_from(schema).map_err(|error| Error::Prost(std::io::Error::other(error)))?;
    let options = FormatOptions::new().pretty(true).skip_default_fields(true);
    Ok(format!("{BEFORE}{}\n", message.to_text_format_with_options(&options)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Encoding, Enum, Field, Message, Method, Service, Value};

    #[test]
    fn a_schema_with_every_field_is_read_as_it_was_written() {
        let method = |id, removed| Method {
            name: format!("M{id}"),
            id,
            request: "p.Q".into(),
            reply: "p.R".into(),
            idempotent: removed,
            removed,
            streams: removed,
        };
        let field =
            |number, end, removed| Field { name: "f".into(), number, kind: "map<string, p.Q>".into(), end, removed };
        let value = |number, removed| Value { name: format!("V{number}").replace('-', "_"), number, removed };
        let schema = Schema {
            services: vec![Service {
                name: "p.S".into(),
                id: 65_535,
                methods: vec![method(1, false), method(2, true)],
            }],
            messages: vec![
                Message { name: "p.Q".into(), encoding: Encoding::Line.into(), fields: vec![field(1, 8, false)] },
                Message { name: "p.R".into(), encoding: Encoding::Proto.into(), fields: vec![field(7, 0, true)] },
            ],
            enums: vec![Enum { name: "p.E".into(), values: vec![value(0, false), value(-5, true)] }],
        };
        let text = print(&schema).unwrap();
        assert!(text.starts_with(BEFORE) && text.ends_with('\n'));
        assert_eq!(parse(&text).unwrap(), schema);
        assert!(parse("services { nam: 1 }").is_err());
    }
}
