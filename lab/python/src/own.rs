//! Policies of a caller's: a Python function, or a compiled one by its address.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use nebula_lab::own::{Decide, OwnPolicy, When};
use nebula_sys::foreign::ForeignDecision;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::raised::{BadInput, raised};

/// A policy as Python has it: its name, the room at a core or None for a choice at arrival, and a
/// function or an address.
pub(crate) type Given = (String, Option<u32>, Py<PyAny>);

/// What stops the question: the first exception of a policy.
#[derive(Clone, Default)]
pub(crate) struct Ending {
    pub(crate) is_stopped: Arc<AtomicBool>,
    raised: Arc<Mutex<Option<PyErr>>>,
}

impl Ending {
    pub(crate) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    fn stop_by(&self, error: PyErr) {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.stop();
    }

    /// The exception of a policy.
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The policies of these functions.
pub(crate) fn policies(py: Python<'_>, given: Vec<Given>, ending: &Ending) -> PyResult<Vec<OwnPolicy>> {
    let one = |(name, room, function): Given| {
        let when = room.map_or(When::Arrival, When::Room);
        let decide: Arc<dyn Decide> = match function.extract::<usize>(py) {
            Ok(address) => {
                Arc::new(Compiled(ForeignDecision::at(address).map_err(|error| BadInput::new_err(error.to_string()))?))
            }
            Err(_) => Arc::new(Called { function, ending: ending.clone() }),
        };
        OwnPolicy::new(&name, when, decide).map_err(raised)
    };
    given.into_iter().map(one).collect()
}

/// A compiled function.
struct Compiled(ForeignDecision);

impl Decide for Compiled {
    #[inline]
    fn decide(&self, load: &[u32], key: u64, draw: u64) -> Result<i64, String> {
        Ok(self.0.decide(load, key, draw))
    }
}

/// A function of Python: it takes the loads as bytes, since a list would be made again for each
/// choice.
struct Called {
    function: Py<PyAny>,
    ending: Ending,
}

impl Decide for Called {
    fn decide(&self, load: &[u32], key: u64, draw: u64) -> Result<i64, String> {
        if self.ending.is_stopped.load(Ordering::Relaxed) {
            return Err("the question was stopped".to_owned());
        }
        Python::attach(|py| {
            let bytes: Vec<u8> = load.iter().flat_map(|load| load.to_ne_bytes()).collect();
            let chosen = self.function.call1(py, (PyBytes::new(py, &bytes), key, draw));
            chosen.and_then(|chosen| chosen.extract::<i64>(py)).map_err(|error| {
                let line = error.to_string();
                self.ending.stop_by(error);
                line
            })
        })
    }
}
