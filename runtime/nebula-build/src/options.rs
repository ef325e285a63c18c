//! The options of `nebula/options.proto`, as a file sets them.

use crate::schema::Encoding;
use protox::prost_reflect::{
    DynamicMessage, FieldDescriptor, MessageDescriptor, MethodDescriptor, ReflectMessage, ServiceDescriptor, Value,
};

/// The value of an option; `None` if it is not set, or the options are not imported.
fn option(options: &DynamicMessage, name: &str) -> Option<Value> {
    let extension = options.descriptor().parent_pool().get_extension_by_name(name)?;
    options.has_extension(&extension).then(|| options.get_extension(&extension).into_owned())
}

pub(crate) fn service_id(service: &ServiceDescriptor) -> Option<u32> {
    option(&service.options(), "nebula.service_id")?.as_u32()
}

pub(crate) fn method_id(method: &MethodDescriptor) -> Option<u32> {
    option(&method.options(), "nebula.id")?.as_u32()
}

pub(crate) fn is_long(method: &MethodDescriptor) -> bool {
    option(&method.options(), "nebula.class").and_then(|class| class.as_enum_number()) == Some(1)
}

/// Protobuf's own option `idempotency_level`.
pub(crate) fn is_idempotent(method: &MethodDescriptor) -> bool {
    let level = method.options().get_field_by_name("idempotency_level").and_then(|level| level.as_enum_number());
    level.is_some_and(|level| level != 0)
}

pub(crate) fn encoding(message: &MessageDescriptor) -> Encoding {
    let number = option(&message.options(), "nebula.encoding").and_then(|value| value.as_enum_number());
    number.and_then(|number| Encoding::try_from(number).ok()).unwrap_or(Encoding::Auto)
}

pub(crate) fn len(field: &FieldDescriptor) -> Option<u32> {
    option(&field.options(), "nebula.len")?.as_u32()
}

pub(crate) fn is_key(field: &FieldDescriptor) -> bool {
    option(&field.options(), "nebula.key").and_then(|value| value.as_bool()).unwrap_or(false)
}
