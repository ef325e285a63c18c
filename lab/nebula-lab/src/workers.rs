//! The threads that simulate a question.

use nebula_sim::study::{Executor, OneThread, Threads};

use nebula_ui::Failure;

/// The threads that simulate a question; its answer does not depend on them.
#[derive(Debug)]
pub enum Workers {
    /// On a separate pool of threads, replications in parallel.
    Threads(Threads),
    /// On the caller's thread, for callers that ask many questions in parallel.
    Caller,
}

impl Workers {
    /// `count` threads, or one per core.
    ///
    /// # Errors
    ///
    /// The operating system refuses to start threads.
    pub fn threads(count: Option<u16>) -> Result<Self, Failure> {
        Ok(Self::Threads(Threads::try_new(count)?))
    }

    pub(crate) fn install<R: Send>(&self, work: impl Fn() -> R + Send + Sync) -> R {
        match self {
            Self::Threads(threads) => threads.install(work),
            Self::Caller => {
                let mut results = OneThread.map(&[()], |()| work());
                results.pop().unwrap_or_else(|| unreachable!("one item has one result"))
            }
        }
    }
}

impl Executor for Workers {
    fn map<'a, T: Sync, R: Send>(&self, items: &'a [T], work: impl Fn(&'a T) -> R + Sync) -> Vec<R> {
        match self {
            Self::Threads(threads) => threads.map(items, work),
            Self::Caller => OneThread.map(items, work),
        }
    }
}
