//! The points of a study, and their results.

use std::path::{Path, PathBuf};

use nebula_lab::sweep::{self, Kind, Point, PointResult, Study};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::raised::{BadInput, raised};
use crate::rows;

/// A point as Python has it, so that it can be sent to another process: question, words, axes.
type Sent = (String, Vec<String>, Vec<(String, String)>);

fn point((kind, words, axes): Sent) -> PyResult<Point> {
    let known = [Kind::Simulate, Kind::Compare, Kind::Size].into_iter().find(|known| known.name() == kind);
    let kind = known.ok_or_else(|| BadInput::new_err(format!("no study has the question {kind:?}")))?;
    Ok(Point::of(kind, words, axes))
}

/// The points of a study in JSON, in their order.
#[pyfunction]
pub(crate) fn points(study: &str) -> PyResult<Vec<Sent>> {
    let points = Study::parse_json(study).and_then(|study| study.points()).map_err(raised)?;
    let sent = |point: &Point| (point.kind().name().to_owned(), point.words().to_vec(), point.axes().to_vec());
    Ok(points.iter().map(sent).collect())
}

/// The results of these points as lines of JSON, asked one after the other on this thread, without
/// the interpreter's lock.
#[pyfunction]
pub(crate) fn ask_points(py: Python<'_>, points: Vec<Sent>) -> PyResult<Vec<String>> {
    let ask = |sent: Sent| {
        let point = point(sent)?;
        py.detach(|| point.ask().to_json()).map_err(raised)
    };
    points.into_iter().map(ask).collect()
}

/// The result of a point whose worker died, as a line of JSON.
#[pyfunction]
pub(crate) fn lost(sent: Sent, why: &str) -> PyResult<String> {
    PointResult::lost(&point(sent)?, why).to_json().map_err(raised)
}

/// The rows, the notes and the error of a result.
#[pyfunction]
pub(crate) fn rows_of<'py>(py: Python<'py>, line: &str) -> PyResult<(Bound<'py, PyList>, Vec<String>, Option<String>)> {
    let result = read(line)?;
    let all: Vec<_> = result.rows().collect();
    Ok((rows::dicts(py, &all)?, result.notes().to_vec(), result.error().map(str::to_owned)))
}

fn read(line: &str) -> PyResult<PointResult> {
    PointResult::from_json(line).ok_or_else(|| BadInput::new_err("this is no result of this version of nebula-lab"))
}

/// The user's folder of results, which `nebula sweep` uses too; None where there is no home.
#[pyfunction]
pub(crate) fn cache_folder() -> Option<PathBuf> {
    sweep::Cache::of_user()
}

/// Results on disk.
#[pyclass(frozen)]
pub(crate) struct Cache(sweep::Cache);

#[pymethods]
impl Cache {
    #[new]
    fn new(folder: PathBuf) -> PyResult<Self> {
        sweep::Cache::at(Path::new(&folder)).map(Self).map_err(raised)
    }

    /// The result of a point that was asked before, as a line of JSON.
    fn find(&self, sent: Sent) -> PyResult<Option<String>> {
        self.0.find(&point(sent)?).map(|result| result.to_json()).transpose().map_err(raised)
    }

    /// Keeps the result of a point.
    fn keep(&self, sent: Sent, line: &str) -> PyResult<()> {
        self.0.keep(&point(sent)?, &read(line)?).map_err(raised)
    }
}
