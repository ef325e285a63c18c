//! New keys for a server's engines, which check for them once a turn.

use crate::config::key::Keys;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Debug, Default)]
pub(crate) struct KeyBox {
    has_news: AtomicBool,
    keys: Mutex<Keys>,
}

impl KeyBox {
    /// Leaves keys for the engine; they replace earlier ones that it has not taken.
    pub(crate) fn put(&self, keys: Keys) {
        // A poisoned lock is fine: keys are moved as a whole.
        *self.keys.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = keys;
        // Release: pairs with the swap in `take`; an engine then reads these keys, or later ones.
        self.has_news.store(true, Ordering::Release);
    }

    #[inline]
    pub(crate) fn take_news(&self) -> Option<Keys> {
        // Relaxed: it only decides whether to look.
        if self.has_news.load(Ordering::Relaxed) { self.take() } else { None }
    }

    #[cold]
    fn take(&self) -> Option<Keys> {
        if !self.has_news.swap(false, Ordering::Acquire) {
            return None;
        }
        Some(std::mem::take(&mut *self.keys.lock().unwrap_or_else(std::sync::PoisonError::into_inner)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::key::Key;

    #[test]
    fn the_latest_keys_are_taken_once() {
        let keys = KeyBox::default();
        assert_eq!(keys.take_news(), None);
        keys.put(Key::new([1; 32]).into());
        keys.put(Key::new([2; 32]).into());
        assert_eq!(keys.take_news(), Some(Key::new([2; 32]).into()));
        assert_eq!(keys.take_news(), None);
    }
}
