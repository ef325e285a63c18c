//! The range of a search.

/// The range and the resolution of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bracket {
    /// Lowest load: a share of the capacity, or RPCs per second at the block level.
    pub lowest: f64,
    /// Highest load; a share is below 1 unless the queue has a bound.
    pub highest: f64,
    /// Width at which a replication stops bisecting.
    pub width: f64,
}

impl Default for Bracket {
    fn default() -> Self {
        Self { lowest: 0.01, highest: 0.9995, width: 0.0005 }
    }
}
