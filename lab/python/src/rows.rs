//! Rows as dictionaries.

use nebula_sim::study::{Row, Value};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// A list of dictionaries: one value a key, as a column of CSV.
pub(crate) fn dicts<'py>(py: Python<'py>, rows: &[Row]) -> PyResult<Bound<'py, PyList>> {
    let all = PyList::empty(py);
    for row in rows {
        let dict = PyDict::new(py);
        for (name, value) in row.values() {
            set(&dict, &name, &value)?;
        }
        all.append(dict)?;
    }
    Ok(all)
}

fn set(dict: &Bound<'_, PyDict>, name: &str, value: &Value) -> PyResult<()> {
    match value {
        Value::Bool(value) => dict.set_item(name, *value),
        Value::Count(value) => dict.set_item(name, *value),
        Value::Number(value) => dict.set_item(name, *value),
        Value::Text(text) => dict.set_item(name, text),
        // What holds several values has been taken apart.
        Value::Null | Value::Ends(_) | Value::List(_) | Value::Object(_) => dict.set_item(name, dict.py().None()),
    }
}
