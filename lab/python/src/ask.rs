//! A question, asked without the interpreter's lock.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;
use std::{any::Any, thread};

use nebula_lab::own::OwnPolicy;
use nebula_lab::simulate::{Simulated, Simulation, Trace};
use nebula_lab::{Answer, Failure, Progress, compare, reproduce, simulate, size};
use nebula_nic::Timestamp;
use nebula_sim::TracedRpc;
use nebula_sim::study::{Bin, Found, Row, text};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::own::{self, Ending, Given};
use crate::raised::raised;
use crate::rows;

/// How often Ctrl-C is looked for, and progress told.
const TICK: Duration = Duration::from_millis(50);

/// What is known of an answer: its rows, and for `simulate` what they were made from.
struct Asked {
    answer: Answer,
    replications: Vec<Row>,
    found: Vec<Found>,
}

impl From<Answer> for Asked {
    fn from(answer: Answer) -> Self {
        Self { answer, replications: Vec::new(), found: Vec::new() }
    }
}

/// Steps that are done and expected; a question that is stopped unwinds from its next one.
#[derive(Default)]
struct Steps {
    done: AtomicU64,
    expected: AtomicU64,
    ending: Ending,
}

/// Thrown by the progress of a question that is stopped.
struct Stopped;

impl Progress for Steps {
    fn expect(&self, steps: u64) {
        self.expected.fetch_add(steps, Ordering::Relaxed);
    }

    fn step(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
        if self.ending.is_stopped.load(Ordering::Relaxed) {
            resume_unwind(Box::new(Stopped));
        }
    }
}

/// Asks `question` in these words. `told(done, expected)` is called some times a second; an
/// exception in it, or Ctrl-C, stops the question at the end of the replications that run.
/// `policies` are simulated behind those of the words, or `are_all` instead of them.
///
/// Returns a dictionary: `rows` and `replications` (lists of dictionaries), `histograms` (for each
/// point its name, its load, and the bytes of three arrays: `float64` lowest and highest
/// nanoseconds of each cell, `uint64` RPCs), `said` (sentences), `notes` (lines) and `failure` (a
/// line or None).
#[pyfunction]
#[pyo3(signature = (question, words, told=None, policies=None, are_all=false))]
pub(crate) fn ask<'py>(
    py: Python<'py>,
    question: &str,
    words: Vec<String>,
    told: Option<Py<PyAny>>,
    policies: Option<Vec<Given>>,
    are_all: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let steps = Steps::default();
    let policies = own::policies(py, policies.unwrap_or_default(), &steps.ending)?;
    let asked = Asking { question, words, policies, are_all };
    let asked = py.detach(|| stoppable(asked, &steps, told.as_ref()))?.map_err(raised)?;
    let dict = PyDict::new(py);
    dict.set_item("rows", rows::dicts(py, &asked.answer.rows)?)?;
    dict.set_item("replications", rows::dicts(py, &asked.replications)?)?;
    dict.set_item("histograms", histograms(py, &asked.found)?)?;
    dict.set_item("said", asked.answer.said)?;
    dict.set_item("notes", asked.answer.notes)?;
    dict.set_item("failure", asked.answer.failure.map(|failure| failure.to_string()))?;
    Ok(dict)
}

/// Each RPC of one run of each point, as the bytes of arrays: `float64` arrival, `int32` core (-1
/// if refused), `float64` start and end.
#[pyfunction]
pub(crate) fn trace<'py>(py: Python<'py>, words: Vec<String>) -> PyResult<Bound<'py, PyList>> {
    let traces = py.detach(|| simulate::Question::parse(words)?.trace()).map_err(raised)?;
    let all = PyList::empty(py);
    for Trace { name, load, rpcs } in traces {
        let ns = |at: Timestamp| (at.as_ps() as f64 / 1e3).to_ne_bytes();
        let never = f64::NAN.to_ne_bytes();
        let bytes =
            |of: &dyn Fn(&TracedRpc) -> [u8; 8]| PyBytes::new(py, &rpcs.iter().flat_map(of).collect::<Vec<u8>>());
        let core = |rpc: &TracedRpc| rpc.served.and_then(|(core, ..)| i32::try_from(core).ok()).unwrap_or(-1);
        let cores: Vec<u8> = rpcs.iter().flat_map(|rpc| core(rpc).to_ne_bytes()).collect();
        let start = bytes(&|rpc| rpc.served.map_or(never, |(_, begun, _)| ns(begun)));
        let end = bytes(&|rpc| rpc.served.map_or(never, |(_, _, ended)| ns(ended)));
        all.append((name, load, bytes(&|rpc| ns(rpc.arrived)), PyBytes::new(py, &cores), start, end))?;
    }
    Ok(all)
}

/// Arrays and not rows: a distribution has some ten thousand cells.
fn histograms<'py>(py: Python<'py>, found: &[Found]) -> PyResult<Bound<'py, PyList>> {
    let all = PyList::empty(py);
    for one in found {
        let cells = &one.detail.latency;
        let bytes = |of: fn(&Bin) -> [u8; 8]| PyBytes::new(py, &cells.iter().flat_map(of).collect::<Vec<u8>>());
        let load = one.figures.as_ref().map(|figures| text::digits(figures.load));
        let [from, to] = [bytes(|bin| bin.from.to_ne_bytes()), bytes(|bin| bin.to.to_ne_bytes())];
        all.append((&one.point.name, load, from, to, bytes(|bin| bin.count.to_ne_bytes())))?;
    }
    Ok(all)
}

/// What is asked.
struct Asking<'a> {
    question: &'a str,
    words: Vec<String>,
    policies: Vec<OwnPolicy>,
    are_all: bool,
}

/// Asks on a thread beside this one, which looks for Ctrl-C: only the main thread is told of it.
fn stoppable(asking: Asking<'_>, steps: &Steps, told: Option<&Py<PyAny>>) -> PyResult<Result<Asked, Failure>> {
    let (ended, end) = channel();
    thread::scope(|scope| {
        scope.spawn(move || {
            let result = catch_unwind(AssertUnwindSafe(|| answered(asking, steps)));
            // The thread that waits takes it, or has given up.
            let _ = ended.send(result);
        });
        let mut stopped_by = None;
        loop {
            match end.recv_timeout(TICK) {
                Ok(result) => return result_of(result, steps.ending.take().or(stopped_by)),
                Err(RecvTimeoutError::Disconnected) => return result_of(Err(Box::new(Stopped)), stopped_by),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if let (None, Err(error)) = (&stopped_by, tick(steps, told)) {
                steps.ending.stop();
                stopped_by = Some(error);
            }
        }
    })
}

type Ended = Result<Result<Asked, Failure>, Box<dyn Any + Send>>;

fn result_of(ended: Ended, stopped_by: Option<PyErr>) -> PyResult<Result<Asked, Failure>> {
    match (ended, stopped_by) {
        (_, Some(error)) => Err(error),
        (Ok(result), None) => Ok(result),
        (Err(panic), None) => resume_unwind(panic),
    }
}

fn tick(steps: &Steps, told: Option<&Py<PyAny>>) -> PyResult<()> {
    Python::attach(|py| {
        py.check_signals()?;
        let counts = (steps.done.load(Ordering::Relaxed), steps.expected.load(Ordering::Relaxed));
        told.map_or(Ok(()), |told| told.call1(py, counts).map(drop))
    })
}

fn answered(asking: Asking<'_>, steps: &Steps) -> Result<Asked, Failure> {
    let Asking { question, words, policies, are_all } = asking;
    match question {
        "simulate" => {
            let simulation = simulate::Question::parse(words)?.with_policies(policies, are_all).ask(steps)?;
            let Simulation { answer, of } = simulation;
            // The other levels have none.
            let found = if let Simulated::Queueing(found) = of { found } else { Vec::new() };
            Ok(Asked { answer, replications: found.iter().flat_map(Found::replication_rows).collect(), found })
        }
        "compare" => Ok(compare::Question::parse(words)?.ask(steps)?.answer.into()),
        "size" => Ok(size::Question::parse(words)?.ask(steps)?.into()),
        "reproduce" => Ok(reproduce::Question::parse(words)?.ask(steps)?.into()),
        other => Err(Failure::bad_input(format!(
            "unknown question {other:?}: there are simulate, compare, size and reproduce"
        ))),
    }
}
