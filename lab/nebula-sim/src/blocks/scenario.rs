//! The scenarios of the block level.

use crate::blocks::application::Application;
use crate::blocks::design::Design;
use crate::blocks::error::BlocksError;
use crate::blocks::machine::Machine;
use nebula_workload::Arrivals;

/// An application under a design on a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// The machine: the costs of every mechanism.
    pub machine: Machine,
    /// The design: which mechanisms are used.
    pub design: Design,
    /// The application.
    pub application: Application,
    /// When RPCs arrive.
    pub arrivals: Arrivals,
    /// DRAM traffic of another program, in 10⁹ bytes per second; half of it is reads.
    pub hog_gb_per_s: f64,
}

impl Scenario {
    /// An application under a design on a machine, with Poisson arrivals and no other program.
    #[must_use]
    pub const fn new(machine: Machine, design: Design, application: Application) -> Self {
        Self { machine, design, application, arrivals: Arrivals::Poisson, hog_gb_per_s: 0.0 }
    }

    /// A scenario from the shipped files of these names; `None` if one of them does not exist.
    #[must_use]
    pub fn named(machine: &str, design: &str, application: &str) -> Option<Self> {
        Some(Self::new(Machine::named(machine)?, Design::named(design)?, Application::named(application)?))
    }

    /// Checks that it can be simulated.
    ///
    /// # Errors
    ///
    /// [`BlocksError`] that says what is wrong.
    pub fn validate(&self) -> Result<(), BlocksError> {
        self.machine.validate()?;
        self.design.validate()?;
        let most = HOG_SHARE_MAX * self.machine.memory.peak_gb_per_s();
        if !(0.0..=most).contains(&self.hog_gb_per_s) {
            return Err(BlocksError::Hog { got: self.hog_gb_per_s, most });
        }
        self.application.validate(&self.machine)
    }
}

/// The largest share of DRAM bandwidth for another program; above it the server makes no progress.
pub(crate) const HOG_SHARE_MAX: f64 = 0.8;
