//! Messages of fixed fields.

use super::comment::comment;
use super::names::{TYPED, path, type_name, value};
use crate::options;
use crate::read::{Fixed, kind};
use protox::prost_reflect::{FieldDescriptor, FileDescriptor, MessageDescriptor};
use std::fmt::Write;

/// Appends the struct of a line message, whose fields end at `ends`.
pub(super) fn append(text: &mut String, message: &MessageDescriptor, ends: &[u32]) {
    let (file, name) = (message.parent_file(), type_name(message.name()));
    let mut fields: Vec<_> = message.fields().collect();
    fields.sort_by_key(FieldDescriptor::number);
    let declared = fields.iter().map(|field| {
        let what = comment(&file, field.path(), "    ");
        format!("{what}    pub {}: {},\n", value(field.name()), rust_type(field))
    });
    let declared = declared.collect::<String>();
    let what = comment(&file, message.path(), "");
    let bytes = ends.last().copied().unwrap_or(0);
    // Writing to a string does not fail.
    let _ = write!(
        text,
        r#"{what}#[derive(
    Clone, Copy, Debug, PartialEq,
    {TYPED}::zerocopy::FromBytes, {TYPED}::zerocopy::IntoBytes, {TYPED}::zerocopy::Immutable,
    {TYPED}::zerocopy::KnownLayout, {TYPED}::zerocopy::Unaligned,
)]
#[zerocopy(crate = "{TYPED}::zerocopy")]
#[repr(C)]
pub struct {name} {{
{declared}}}
const _: () = assert!(::core::mem::size_of::<{name}>() == {bytes});
impl ::core::default::Default for {name} {{
    fn default() -> Self {{
        {TYPED}::zerocopy::FromZeros::new_zeroed()
    }}
}}
impl {TYPED}::LineLayout for {name} {{
    const ENDS: &'static [u32] = &{ends:?};
}}
impl {TYPED}::Message for {name} {{
    type As = {TYPED}::Line;
{}}}
{}"#,
        key_hash(&fields),
        accessors(&name, &fields),
    );
}

fn rust_type(field: &FieldDescriptor) -> String {
    match kind(field) {
        Some(Fixed::Number(name, _)) => format!("{TYPED}::zerocopy::little_endian::{name}"),
        Some(Fixed::Bool) => format!("{TYPED}::Bool"),
        Some(Fixed::Bytes(len)) => format!("[u8; {len}]"),
        Some(Fixed::Text(len)) => format!("{TYPED}::Text<{len}>"),
        Some(Fixed::Enum(_)) => format!("{TYPED}::zerocopy::little_endian::I32"),
        Some(Fixed::Message(inner)) => path(inner.full_name(), inner.package_name(), field.containing_package()),
        None => unreachable!("a line message has fields of fixed size"),
    }
}

trait ContainingPackage {
    fn containing_package(&self) -> &str;
}

impl ContainingPackage for FieldDescriptor {
    fn containing_package(&self) -> &str {
        self.parent_message().package_name()
    }
}

fn key_hash(fields: &[FieldDescriptor]) -> String {
    let Some(key) = fields.iter().find(|field| options::is_key(field)) else { return String::new() };
    let name = value(key.name());
    let bytes = match kind(key) {
        Some(Fixed::Text(_)) => format!("self.{name}.as_str().unwrap_or_default().as_bytes()"),
        _ => format!("{TYPED}::zerocopy::IntoBytes::as_bytes(&self.{name})"),
    };
    format!("    #[inline]\n    fn key_hash(&self) -> u32 {{\n        {TYPED}::key_hash({bytes})\n    }}\n")
}

/// Enums are numbers in the struct, since a peer may send a value that this version does not know.
fn accessors(name: &str, fields: &[FieldDescriptor]) -> String {
    let accessor = |field: &FieldDescriptor| {
        let Some(Fixed::Enum(one)) = kind(field) else { return None };
        let (field_name, package) = (value(field.name()), field.containing_package());
        let one = path(one.full_name(), one.package_name(), package);
        Some(format!(
            "    /// The value of `{field_name}`; `None` for one that this version does not know.\n    #[must_use]\n    \
             pub fn {field_name}(&self) -> ::core::option::Option<{one}> {{\n        \
             {one}::try_from(self.{field_name}.get()).ok()\n    }}\n"
        ))
    };
    let methods: String = fields.iter().filter_map(accessor).collect();
    if methods.is_empty() { String::new() } else { format!("impl {name} {{\n{methods}}}\n") }
}

/// Appends conversions of enums to fields of line messages.
pub(super) fn append_enums(text: &mut String, file: &FileDescriptor) {
    let within = file.messages().flat_map(|message| message.child_enums().collect::<Vec<_>>());
    for one in file.enums().chain(within) {
        let one = path(one.full_name(), one.package_name(), file.package_name());
        let _ = write!(
            text,
            "impl ::core::convert::From<{one}> for {TYPED}::zerocopy::little_endian::I32 {{\n    \
             fn from(value: {one}) -> Self {{\n        Self::new(value as i32)\n    }}\n}}\n"
        );
    }
}
