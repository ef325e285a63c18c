//! One value of a result, for JSON and CSV.

use serde::ser::{Serialize, SerializeMap, Serializer};

/// A value. Unlike a JSON map of a library, an object keeps the order in which its fields were described.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Absent, or infinite.
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Count(u64),
    /// A number; `null` if it is not finite.
    Number(f64),
    /// Text.
    Text(String),
    /// A list.
    List(Vec<Value>),
    /// Named values, in order.
    Object(Vec<(&'static str, Value)>),
}

impl Value {
    /// Flattens the value into named CSV fields: an object `latency_ns` with `p99` becomes `latency_ns_p99`.
    pub(super) fn flatten(&self, name: &str, into: &mut Vec<(String, String)>) {
        match self {
            Self::Object(fields) => {
                fields.iter().for_each(|(field, value)| value.flatten(&format!("{name}_{field}"), into));
            }
            value => into.push((name.to_owned(), value.plain())),
        }
    }

    /// The value as a CSV field: empty for `null`, semicolons between the values of a list.
    fn plain(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::List(values) => values.iter().map(Self::plain).collect::<Vec<_>>().join(";"),
            Self::Bool(value) => value.to_string(),
            Self::Count(value) => value.to_string(),
            Self::Number(value) if value.is_finite() => value.to_string(),
            Self::Null | Self::Number(_) | Self::Object(_) => String::new(),
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_none(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Count(value) => serializer.serialize_u64(*value),
            Self::Number(value) => serializer.serialize_f64(*value),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(values) => values.serialize(serializer),
            Self::Object(fields) => {
                let mut map = serializer.serialize_map(Some(fields.len()))?;
                fields.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))?;
                map.end()
            }
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Self::Count(value.into())
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Count(value)
    }
}

impl From<usize> for Value {
    fn from(value: usize) -> Self {
        Self::Count(value as u64)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(values: Vec<T>) -> Self {
        Self::List(values.into_iter().map(Into::into).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_names_what_an_object_holds_after_it() {
        let mut fields = Vec::new();
        let value = Value::Object(vec![("p50", 3_u64.into()), ("p99", Value::Null)]);
        value.flatten("latency_ns", &mut fields);
        assert_eq!(fields, [("latency_ns_p50".into(), "3".into()), ("latency_ns_p99".to_owned(), String::new())]);
    }
}
