//! The exceptions of failures.

use nebula_lab::Failure;
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

create_exception!(
    nebula_lab,
    BadInput,
    PyValueError,
    "A word that cannot be read, or a point that cannot be simulated; says what is valid."
);
create_exception!(nebula_lab, Fault, PyRuntimeError, "An error at run time, such as a queue that grows without limit.");

/// The exception of a failure, with the line that the program prints.
pub(crate) fn raised(failure: Failure) -> PyErr {
    match failure {
        Failure::BadInput(line) => BadInput::new_err(line),
        failure => Fault::new_err(failure.to_string()),
    }
}
