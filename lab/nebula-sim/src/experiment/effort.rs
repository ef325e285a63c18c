//! How long, and how often, is a system simulated?

use crate::error::SimError;
use crate::load::Load;
use crate::settled::Relaxation;
use crate::system::System;
use crate::world::length::Length;
use derive_setters::Setters;
use nebula_workload::Seed;

/// How much is simulated for one operating point. Each field has a setter of the same name.
///
/// # Examples
///
/// ```
/// use nebula_sim::Effort;
///
/// let effort = Effort::default().rpcs(50_000).replications(4).precision(0.01);
/// assert!(effort.validate().is_ok());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Setters)]
#[setters(strip_option)]
pub struct Effort {
    /// RPCs measured in each replication, at least.
    #[setters(skip)]
    pub rpcs: u64,
    /// RPCs measured in each replication, at most. For a load that takes long to settle,
    /// [`length`](Self::length) chooses more than `rpcs`; where no formula gives a length,
    /// [`estimate`](crate::estimate) repeats windows that are too short.
    pub rpcs_max: u64,
    /// RPCs of the warm-up, to fill the system; [`length`](Self::length) chooses if not set.
    pub warmup: Option<u64>,
    /// Replications; with a precision, rounds of this many run until it is reached.
    pub replications: u32,
    /// Half-width of the p99's interval, as a share of the p99, at which to stop.
    pub precision: Option<f64>,
    /// Most replications if a precision is set.
    pub replications_max: u32,
    /// Seed of all random draws.
    pub seed: Seed,
}

impl Default for Effort {
    /// Ten replications of 200,000 RPCs, or of up to 12 million if the load takes long to settle.
    fn default() -> Self {
        Self {
            rpcs: 200_000,
            rpcs_max: 12_000_000,
            warmup: None,
            replications: 10,
            precision: None,
            replications_max: 200,
            seed: Seed(1),
        }
    }
}

impl Effort {
    /// Sets the RPCs measured in each replication, whatever the load.
    #[must_use]
    pub const fn rpcs(mut self, rpcs: u64) -> Self {
        (self.rpcs, self.rpcs_max) = (rpcs, rpcs);
        self
    }

    /// The length of one replication of `load` on `system`.
    ///
    /// The measured windows of all replications together are 3,000 to 9,000 relaxation times long
    /// if the effort allows it; otherwise each has `rpcs` RPCs. Unless set, the warm-up is three
    /// relaxation times long, at least a tenth of the measured RPCs and at most twice as many.
    /// Where no formula gives the relaxation time, [`Load::settling_rpcs`] replaces the three.
    #[must_use]
    pub fn length(&self, system: &System, load: &Load) -> Length {
        let relaxation = Relaxation::of(system, load);
        let window = |relaxation: Relaxation| relaxation.window(self.replications, self.rpcs_max);
        let rpcs = relaxation.map_or(0, window).max(self.rpcs);
        let settling =
            || relaxation.map_or_else(|| load.settling_rpcs(), Relaxation::warmup).clamp(rpcs / 10, 2 * rpcs);
        Length { warmup: self.warmup.unwrap_or_else(settling), rpcs }
    }

    /// Parts of a replication's measured window, so that all replications have some 40.
    pub(crate) fn parts(&self) -> u32 {
        SECTIONS.div_ceil(self.replications.max(1)).min(SECTIONS / 2)
    }

    /// Checks that this much can be simulated.
    ///
    /// # Errors
    ///
    /// [`SimError`] that says what is wrong.
    pub fn validate(&self) -> Result<(), SimError> {
        if !(1_000..=1_000_000_000_000).contains(&self.rpcs) {
            return Err(SimError::Rpcs { got: self.rpcs });
        }
        if !(2..=10_000).contains(&self.replications) {
            return Err(SimError::Replications { got: self.replications });
        }
        match self.precision {
            Some(got) if !(1e-5..1.0).contains(&got) => Err(SimError::Precision { got }),
            _ => Ok(()),
        }
    }
}

/// Parts of all measured windows together, at least: with fewer, skewness cannot be estimated.
pub(crate) const SECTIONS: u32 = 40;
