//! What has run already.

use super::bench::Depth;
use super::case::Case;
use super::point::{Highest, Point};
use nebula_nic::Span;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The runs of NEBULA's evaluation, kept for the entries that ask for them again.
///
/// Everything that decides a result is in its key: what is found here is what would run.
///
/// # Cost
///
/// About a kilobyte a run.
#[derive(Debug, Default)]
pub struct Memo {
    pub(super) points: Shelf<(Case, u64, Depth, u64), Arc<Point>>,
    pub(super) highest: Shelf<(Case, Depth, u64), Arc<Highest>>,
    pub(super) slos: Shelf<(Case, u64), Span>,
}

/// Results by what decides them.
#[derive(Debug)]
pub(super) struct Shelf<K, V>(Mutex<BTreeMap<K, V>>);

impl<K, V> Default for Shelf<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Ord, V: Clone> Shelf<K, V> {
    /// The result of this key: the kept one, or that of `run`. Two threads that ask at once both run, and find the same.
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
