//! `altocumulus:G`: when and how many RPCs the groups of workers hand to one another.

use derive_setters::Setters;
use nebula_nic::Span;
use nebula_nic::schedule::Thresholds;

/// Under `altocumulus:G`: how the groups of workers hand RPCs to one another.
///
/// Each field has a setter of the same name, which takes the value of an optional field.
#[derive(Clone, Debug, PartialEq, Eq, Setters)]
#[setters(strip_option)]
#[non_exhaustive]
pub struct MigrationConfig {
    /// Time between two decisions of a group. Default: 1 µs.
    #[setters(into)]
    pub period: Span,
    /// RPCs that a group hands over in a period, at most. Default: 16.
    pub bulk: u32,
    /// Groups that it hands RPCs to in a period, at most; at most `bulk`. Default: 8.
    pub concurrency: u32,
    /// RPCs that may wait in a group before it hands over the newest. `None`, the default, is half
    /// of what the SLO lets wait.
    pub waiting_max: Option<u32>,
    /// In place of `waiting_max`: how many RPCs may wait by the load of the group, which is its
    /// RPCs' rate times [`service_mean`](crate::ServerConfig::service_mean), shared by its workers.
    /// `nebula thresholds` trains them.
    ///
    /// # Source
    ///
    /// Altocumulus: thresholds that predict which RPCs miss the SLO.
    pub thresholds: Option<Thresholds>,
    /// RPCs of other groups that may wait in a group. It refuses more; they stay where they were.
    /// Default: 64.
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
