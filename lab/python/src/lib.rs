//! The extension module `nebula_lab._native`: the laboratory's questions for Python.
//!
//! It is thin: words go in, rows come out. What a caller sees is in `python/nebula_lab`, in Python.
//!
//! | file | what it holds |
//! |---|---|
//! | `ask` | a question, asked without the interpreter's lock; Ctrl-C; progress |
//! | `own` | policies of the caller's |
//! | `sweep` | the points of a study, and their results |
//! | `rows` | rows as dictionaries |

#![forbid(unsafe_code)]

mod ask;
mod own;
mod rows;
mod sweep;

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
fn raised(failure: Failure) -> PyErr {
    match failure {
        Failure::BadInput(line) => BadInput::new_err(line),
        Failure::Fault(line) => Fault::new_err(line),
    }
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("BadInput", py.get_type::<BadInput>())?;
    module.add("Fault", py.get_type::<Fault>())?;
    module.add_function(wrap_pyfunction!(ask::ask, module)?)?;
    module.add_function(wrap_pyfunction!(ask::trace, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::points, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::ask_points, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::lost, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::rows_of, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::cache_folder, module)?)?;
    module.add_class::<sweep::Cache>()
}
