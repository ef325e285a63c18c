//! The result of a reproduction, or its error.

use crate::blocks::BlocksError;
use crate::error::SimError;
use crate::memory::MemoryError;
use crate::reproduce::picture::Picture;
use crate::reproduce::row::Row;
use nebula_workload::WorkloadError;

/// The result of an entry.
#[derive(Clone, Debug, Default)]
pub struct Reproduction {
    /// The comparisons.
    pub rows: Vec<Row>,
    /// The charts of a report.
    pub pictures: Vec<Picture>,
}

impl From<Vec<Row>> for Reproduction {
    fn from(rows: Vec<Row>) -> Self {
        Self { rows, pictures: Vec::new() }
    }
}

/// Why a reproduction has no result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ReproduceError {
    /// An error of the queueing level.
    #[error(transparent)]
    Sim(#[from] SimError),
    /// An error of the memory model.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// An error of the block level.
    #[error(transparent)]
    Blocks(#[from] BlocksError),
    /// A load is invalid.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
}
