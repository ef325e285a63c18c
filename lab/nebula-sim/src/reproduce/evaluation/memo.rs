//! Results of earlier runs.

use super::case::Case;
use super::depth::Depth;
use super::point::{Highest, Point};
use nebula_nic::Span;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Results of the runs of NEBULA's evaluation, kept for other entries that need them: about a
/// kilobyte a run. A result's key contains everything that it depends on.
#[derive(Debug, Default)]
pub struct Memo {
    pub(super) points: Shelf<(Case, u64, Depth, u64), Arc<Point>>,
    pub(super) highest: Shelf<(Case, Depth, u64), Arc<Highest>>,
    pub(super) slos: Shelf<(Case, u64), Span>,
}

#[derive(Debug)]
pub(super) struct Shelf<K, V>(Mutex<BTreeMap<K, V>>);

impl<K, V> Default for Shelf<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Ord, V: Clone> Shelf<K, V> {
    /// The kept result of this key, or else the result of `run`. Two threads that ask at the same
    /// time both run, with the same result.
    pub(super) fn get_or_run<E>(&self, key: K, run: impl FnOnce() -> Result<V, E>) -> Result<V, E> {
        let kept = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = kept().get(&key) {
            return Ok(found.clone());
        }
        let made = run()?;
        kept().insert(key, made.clone());
        Ok(made)
    }
}
