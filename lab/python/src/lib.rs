//! The extension module `nebula_lab._native`: the laboratory's questions for Python.
//!
//! It is thin: words go in, rows come out. What a caller sees is in `python/nebula_lab`, in Python.
//!
//! | file | what it holds |
//! |---|---|
//! | `ask` | a question, asked without the interpreter's lock; Ctrl-C; progress |
//! | `own` | policies of the caller's |
//! | `sweep` | the points of a study, and their results |
//! | `raised` | the exceptions of failures |
//! | `rows` | rows as dictionaries |

#![forbid(unsafe_code)]

mod ask;
mod own;
mod raised;
mod rows;
mod sweep;

use pyo3::prelude::*;
use raised::{BadInput, Fault};

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
