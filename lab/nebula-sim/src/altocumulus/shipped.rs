//! The tables of thresholds that are shipped.

use crate::shipped::{Shipped, shipped};

/// The shipped tables, by file name.
pub(crate) const SHIPPED: Shipped = shipped!("thresholds":
    "exponential-15", "bimodal-15", "fixed-15",
);
