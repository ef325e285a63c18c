//! A design under a mix of RPCs, on the paper's machine or on the one without fitted parameters.

use super::super::paper::{Design, Evaluation};
use crate::blocks::{Application, Design as Mechanisms, Machine, Scenario};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tuning {
    Fitted,
    Unfitted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) struct Case {
    pub(in super::super) design: Design,
    tuning: Tuning,
    gets_percent: u32,
    value_bytes: u32,
}

impl Case {
    pub(in super::super) const fn new(setup: &Evaluation, design: Design) -> Self {
        let (gets_percent, value_bytes) = (setup.gets_percent, setup.value_bytes);
        Self { design, tuning: Tuning::Fitted, gets_percent, value_bytes }
    }

    pub(in super::super) const fn unfitted(self) -> Self {
        Self { tuning: Tuning::Unfitted, ..self }
    }

    pub(in super::super) const fn gets(self, gets_percent: u32) -> Self {
        Self { gets_percent, ..self }
    }

    pub(in super::super) const fn values(self, value_bytes: u32) -> Self {
        Self { value_bytes, ..self }
    }

    pub(in super::super) const fn under(self, design: Design) -> Self {
        Self { design, ..self }
    }

    /// Its name in sentences, with the parameters that differ from those of most figures.
    pub(super) fn title(self, setup: &Evaluation) -> String {
        let mut title = self.design.title().to_owned();
        if self.value_bytes != setup.value_bytes {
            title += &format!(" with {} B", self.value_bytes);
        }
        if self.gets_percent != setup.gets_percent {
            title += &format!(" with {} % GETs", self.gets_percent);
        }
        title
    }

    /// Panics if Nebula ships no such machine or design; a test reads the file with their names.
    pub(super) fn scenario(self, setup: &Evaluation) -> Scenario {
        let machine = match self.tuning {
            Tuning::Fitted => &setup.machine,
            Tuning::Unfitted => &setup.unfitted,
        };
        let machine = Machine::named(machine).expect("the machine ships with Nebula");
        let design = Mechanisms::named(self.design.file()).expect("the design ships with Nebula");
        Scenario::new(machine, design, Application::key_value(f64::from(self.gets_percent) / 100.0, self.value_bytes))
    }
}
