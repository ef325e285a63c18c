//! One value of a result, for JSON and CSV.

use std::borrow::Cow;

use serde::ser::{Serialize, SerializeMap, Serializer};

/// The name of a field: declared in the code, or read from an earlier result.
pub type Name = Cow<'static, str>;

/// A value. The fields of an object keep their order, unlike in a library's JSON map.
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
    /// Both ends of an interval; an end that is not finite is `null`.
    Ends([f64; 2]),
    /// A list.
    List(Vec<Value>),
    /// Named values, in order.
    Object(Vec<(Name, Value)>),
}

impl Value {
    /// Named values, in this order.
    #[must_use]
    pub fn object<N: Into<Name>>(fields: impl IntoIterator<Item = (N, Self)>) -> Self {
        Self::Object(fields.into_iter().map(|(name, value)| (name.into(), value)).collect())
    }

    /// Flattens the value into CSV fields of one value each: an object `latency_ns` with `p99`
    /// becomes `latency_ns_p99`, the ends `load_ci` become `load_lo` and `load_hi`, and a list
    /// `busy` becomes `busy_0`, `busy_1`.
    pub(crate) fn flatten(&self, name: &str, into: &mut Vec<(String, Self)>) {
        match self {
            Self::Object(fields) => {
                fields.iter().for_each(|(field, value)| value.flatten(&part_of(name, field), into));
            }
            Self::List(values) => {
                let parts = values.iter().zip(0..);
                parts.for_each(|(value, at): (_, u32)| value.flatten(&part_of(name, &at.to_string()), into));
            }
            Self::Ends(ends) => flatten_ends(name, ends.map(Self::Number), into),
            // Unknown ends have the columns of known ones.
            Self::Null if name.ends_with(CI) => flatten_ends(name, [Self::Null, Self::Null], into),
            value => into.push((name.to_owned(), value.clone())),
        }
    }

    /// The value as a CSV field: empty for `null`.
    pub(crate) fn plain(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Bool(value) => value.to_string(),
            Self::Count(value) => value.to_string(),
            Self::Number(value) if value.is_finite() => value.to_string(),
            Self::Null | Self::Number(_) | Self::Ends(_) | Self::List(_) | Self::Object(_) => String::new(),
        }
    }
}

/// The end of an interval's name.
const CI: &str = "_ci";

/// The name of a part; the name of an interval among several ends like that of a single one.
fn part_of(name: &str, part: &str) -> String {
    match name.strip_suffix(CI) {
        Some(stem) => format!("{stem}_{part}{CI}"),
        None => format!("{name}_{part}"),
    }
}

fn flatten_ends(name: &str, [lo, hi]: [Value; 2], into: &mut Vec<(String, Value)>) {
    let name = name.strip_suffix(CI).unwrap_or(name);
    into.extend([(format!("{name}_lo"), lo), (format!("{name}_hi"), hi)]);
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_none(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Count(value) => serializer.serialize_u64(*value),
            Self::Number(value) => serializer.serialize_f64(*value),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Ends(ends) => ends.map(Self::Number).serialize(serializer),
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
        let value = Value::object([("p50", 3_u64.into()), ("p99", Value::Null)]);
        value.flatten("latency_ns", &mut fields);
        assert_eq!(fields, [("latency_ns_p50".into(), 3_u64.into()), ("latency_ns_p99".to_owned(), Value::Null)]);
    }

    #[test]
    fn a_cell_has_one_value() {
        let flat = |name: &str, value: &Value| {
            let mut fields = Vec::new();
            value.flatten(name, &mut fields);
            fields.into_iter().map(|(name, one)| format!("{name}={}", one.plain())).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(flat("load_ci", &Value::Ends([0.5, f64::INFINITY])), "load_lo=0.5 load_hi=");
        assert_eq!(flat("load_ci", &Value::Null), "load_lo= load_hi=");
        assert_eq!(flat("interval", &Value::Ends([1.0, 2.0])), "interval_lo=1 interval_hi=2");
        assert_eq!(flat("busy", &vec![0.25, 0.5].into()), "busy_0=0.25 busy_1=0.5");
        let each = Value::List(vec![Value::Ends([1.0, 2.0]), Value::Null]);
        assert_eq!(flat("busy_ci", &each), "busy_0_lo=1 busy_0_hi=2 busy_1_lo= busy_1_hi=");
    }
}
