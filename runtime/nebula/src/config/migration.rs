//! `altocumulus:G`: when and how much the groups of workers hand to one another.

use nebula_nic::Span;
use nebula_nic::schedule::Thresholds;

/// Under `altocumulus:G`: how the groups of workers hand RPCs to one another.
///
/// Each field has a builder method of the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MigrationConfig {
    /// Time between two decisions of a group. Default: 1 µs.
    pub period: Span,
    /// RPCs that a group hands over in a period, at most. Default: 16.
    pub bulk: u32,
    /// Groups that it hands RPCs to in a period, at most; at most `bulk`. Default: 8.
    pub concurrency: u32,
    /// RPCs that may wait in a group before it hands over the newest. `None`, the default, is half of what the SLO lets wait.
    pub waiting_max: Option<u32>,
    /// In place of `waiting_max`: how many RPCs may wait by the load of the group, which is its RPCs' rate times
    /// [`service_mean`](crate::ServerConfig::service_mean), shared by its workers. `nebula thresholds` trains them.
    ///
    /// # Source
    ///
    /// Altocumulus: thresholds that predict which RPCs miss the SLO.
    pub thresholds: Option<Thresholds>,
    /// RPCs of other groups that may wait in a group. It refuses more; they stay where they were. Default: 64.
    pub foreign_max: u32,
}

impl Default for MigrationConfig {
    /// Bulk and concurrency are Altocumulus's; a period of 1 µs is some turns of an engine.
    fn default() -> Self {
        Self {
            period: Span::from_us(1),
            bulk: 16,
            concurrency: 8,
            waiting_max: None,
            thresholds: None,
            foreign_max: 64,
        }
    }
}

impl MigrationConfig {
    /// Sets [the time between two decisions](Self#structfield.period).
    #[must_use]
    pub fn period(mut self, period: impl Into<Span>) -> Self {
        self.period = period.into();
        self
    }

    /// Sets [how many RPCs are handed over in a period](Self#structfield.bulk).
    #[must_use]
    pub fn bulk(mut self, rpcs: u32) -> Self {
        self.bulk = rpcs;
        self
    }

    /// Sets [how many groups they go to](Self#structfield.concurrency).
    #[must_use]
    pub fn concurrency(mut self, groups: u32) -> Self {
        self.concurrency = groups;
        self
    }

    /// Sets [how many RPCs may wait before some are handed over](Self#structfield.waiting_max).
    #[must_use]
    pub fn waiting_max(mut self, rpcs: u32) -> Self {
        self.waiting_max = Some(rpcs);
        self
    }

    /// Sets [how many RPCs may wait by load](Self#structfield.thresholds).
    #[must_use]
    pub fn thresholds(mut self, trained: Thresholds) -> Self {
        self.thresholds = Some(trained);
        self
    }

    /// Sets [how many RPCs of other groups may wait](Self#structfield.foreign_max).
    #[must_use]
    pub fn foreign_max(mut self, rpcs: u32) -> Self {
        self.foreign_max = rpcs;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rebuilt::rebuilt;

    #[test]
    fn every_field_has_a_builder_of_its_name_that_sets_it() {
        let unusual = MigrationConfig {
            period: Span::from_us(7),
            bulk: 701,
            concurrency: 702,
            waiting_max: Some(703),
            thresholds: Some(Thresholds::fixed(705)),
            foreign_max: 704,
        };
        let from = unusual.clone();
        let rebuilt = rebuilt!(MigrationConfig from from; period, bulk, concurrency, foreign_max; optional waiting_max, thresholds);
        assert_eq!(rebuilt, unusual);
    }
}
