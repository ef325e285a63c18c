//! The manager of one group: decides migrations from its queue and the others' published lengths.

use super::load_estimate::LoadEstimate;
use super::pattern::{Pattern, PatternCounts};
use super::thresholds::Thresholds;
use crate::core_set::CORES_MAX;
use crate::id::GroupId;
use crate::time::{Span, Timestamp};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

/// The configuration of a manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManagerConfig {
    /// The group that it manages.
    pub group: GroupId,
    /// The number of groups.
    pub groups: u16,
    /// The time from one decision to the next.
    pub period: Span,
    /// The most RPCs handed over in one period.
    pub bulk: u32,
    /// The most groups that RPCs are sent to in one period.
    pub concurrency: u32,
    /// The window in which arrivals are counted to estimate the load.
    pub window: Span,
    /// Arrivals in a window that would keep all workers of the group busy.
    pub window_capacity: u32,
    /// By load, the queue length beyond which RPCs are predicted to miss the SLO.
    pub thresholds: Thresholds,
}

impl ManagerConfig {
    /// The published parameters for one of `groups` groups of `workers` cores with mean `service`.
    ///
    /// Source: Altocumulus: a period of 200 ns, a bulk of 16, a concurrency of 8, according to a
    /// secondary source. The window of ten mean service times is assumed.
    #[must_use]
    pub fn new(group: GroupId, groups: u16, workers: u16, service: Span, thresholds: Thresholds) -> Self {
        let window = Span::from_ps(service.as_ps().saturating_mul(10).max(1));
        let window_capacity = u32::from(workers) * 10;
        let period = Span::from_ns(200);
        Self { group, groups, period, bulk: 16, concurrency: 8, window, window_capacity, thresholds }
    }

    /// Sets the time from one decision to the next.
    #[must_use]
    pub fn period(mut self, period: Span) -> Self {
        self.period = period;
        self
    }

    /// Sets how many RPCs are handed over in a period, and to how many groups.
    #[must_use]
    pub fn bulk(mut self, bulk: u32, concurrency: u32) -> Self {
        (self.bulk, self.concurrency) = (bulk, concurrency);
        self
    }

    /// Checks the configuration.
    pub fn validate(&self) -> Result<(), ManagerConfigError> {
        if self.groups > CORES_MAX || self.group.0 >= self.groups {
            return Err(ManagerConfigError::Group { group: self.group.0, groups: self.groups });
        }
        if self.concurrency == 0 || self.bulk < self.concurrency {
            return Err(ManagerConfigError::Bulk { bulk: self.bulk, concurrency: self.concurrency });
        }
        if self.period == Span::ZERO || self.window == Span::ZERO || self.window_capacity == 0 {
            return Err(ManagerConfigError::Period);
        }
        Ok(())
    }
}

/// A manager's configuration is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ManagerConfigError {
    /// The group number is out of range, or there are too many groups.
    #[error(
        "group {group} of {groups} is not possible: give a number below the groups, of which there are 1 to {CORES_MAX}"
    )]
    Group {
        /// Group asked for.
        group: u16,
        /// Groups asked for.
        groups: u16,
    },
    /// Empty batches.
    #[error(
        "a bulk of {bulk} RPCs for {concurrency} groups at once is not possible: give at least 1 group and as many RPCs"
    )]
    Bulk {
        /// RPCs asked for.
        bulk: u32,
        /// Groups asked for.
        concurrency: u32,
    },
    /// The period is zero, or the window has no capacity.
    #[error("a manager needs a period, and a window with room for an arrival")]
    Period,
}

/// RPCs to hand over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Migration {
    /// The group that gets them.
    pub to: GroupId,
    /// How many at most, in messages of [`Manager::batch`] each: fewer if fewer may leave.
    pub count: u32,
}

/// Decides which of a group's waiting RPCs go to which other group.
///
/// Report arrivals with [`handle_arrival`](Self::handle_arrival), and call [`decide`](Self::decide)
/// once per period. Cost: one comparison below the threshold, otherwise O(groups · log groups); no
/// allocation.
///
/// Source: Altocumulus: threshold, pattern, bulk, concurrency, batches of bulk over concurrency,
/// and the minimum difference that keeps RPCs from moving back and forth. The difference from which
/// queues count as far apart is not published: here a whole bulk.
///
/// # Invariants
///
/// One decision names at most `concurrency` groups, each once and never its own, and at most `bulk`
/// RPCs; only groups whose queue is shorter by more than a batch.
///
/// # Examples
///
/// ```
/// use nebula_nic::schedule::{Manager, ManagerConfig, Migration, Thresholds};
/// use nebula_nic::{GroupId, Span, Timestamp};
///
/// let config = ManagerConfig::new(GroupId(0), 4, 15, Span::from_us(1), Thresholds::fixed(10));
/// let mut manager = Manager::try_new(config)?;
/// let published = [0, 3, 2, 9]; // its own is not looked at
/// let now = Timestamp::ZERO;
/// assert!(manager.decide(now, 10, |other| published[other.index()]).is_empty());
/// let migrations = manager.decide(now, 15, |other| published[other.index()]);
/// assert_eq!(migrations, [Migration { to: GroupId(2), count: 5 }], "longest to shortest, what is beyond 10");
/// # Ok::<(), nebula_nic::schedule::ManagerConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Manager {
    config: ManagerConfig,
    load: LoadEstimate,
    threshold: u32,
    next: Timestamp,
    /// Scratch space and result of a decision.
    lengths: Box<[u32]>,
    order: Box<[u16]>,
    migrations: Vec<Migration>,
    patterns: PatternCounts,
}

impl Manager {
    /// The manager of one group.
    pub fn try_new(config: ManagerConfig) -> Result<Self, ManagerConfigError> {
        config.validate()?;
        let groups = usize::from(config.groups);
        Ok(Self {
            load: LoadEstimate::new(config.window, config.window_capacity),
            threshold: config.thresholds.at(0),
            next: Timestamp::ZERO + config.period,
            lengths: vec![0; groups].into(),
            order: (0..config.groups).collect(),
            migrations: Vec::with_capacity(groups.min(config.concurrency as usize)),
            patterns: PatternCounts::default(),
            config,
        })
    }

    /// Counts an RPC that arrived at the group from outside.
    #[inline]
    pub fn handle_arrival(&mut self, now: Timestamp) {
        if self.load.handle_arrival(now) {
            self.threshold = self.config.thresholds.at(self.load.permille());
        }
    }

    /// Replaces the thresholds, when the service time changes.
    pub fn set_thresholds(&mut self, thresholds: Thresholds) {
        self.threshold = thresholds.at(self.load.permille());
        self.config.thresholds = thresholds;
    }

    /// When the next decision is due.
    #[must_use]
    #[inline]
    pub const fn poll_timeout(&self) -> Timestamp {
        self.next
    }

    /// How many RPCs may wait at the estimated load.
    #[must_use]
    #[inline]
    pub const fn threshold(&self) -> u32 {
        self.threshold
    }

    /// The estimated load, in thousandths.
    #[must_use]
    pub fn load_permille(&self) -> u32 {
        self.load.permille()
    }

    /// RPCs per message.
    #[must_use]
    pub const fn batch(&self) -> u32 {
        self.config.bulk / self.config.concurrency
    }

    /// The configuration it was built with.
    #[must_use]
    pub const fn config(&self) -> &ManagerConfig {
        &self.config
    }

    /// Decides which RPCs leave: `waiting` is the length of its queue, `published` the length that
    /// another group last published. The next decision is due at the first multiple of the period
    /// after `now`.
    #[inline]
    pub fn decide(&mut self, now: Timestamp, waiting: u32, published: impl FnMut(GroupId) -> u32) -> &[Migration] {
        let period_ps = self.config.period.as_ps();
        self.next = Timestamp::from_ps((now.as_ps() / period_ps + 1) * period_ps);
        self.migrations.clear();
        if waiting > self.threshold {
            self.decide_beyond(waiting, published);
        }
        &self.migrations
    }

    #[inline(never)]
    fn decide_beyond(&mut self, waiting: u32, mut published: impl FnMut(GroupId) -> u32) {
        let own = self.config.group;
        for (length, group) in self.lengths.iter_mut().zip((0..).map(GroupId)) {
            *length = if group == own { waiting } else { published(group) };
        }
        let Some(pattern) = Pattern::of(&self.lengths, self.config.bulk) else { return };
        let lengths = &self.lengths;
        self.order.sort_unstable_by_key(|&group| (lengths[usize::from(group)], group));
        self.choose(pattern);
        self.share_out(waiting);
        if !self.migrations.is_empty() {
            self.patterns.count(pattern);
        }
    }

    /// How often it had RPCs handed over, by pattern.
    #[must_use]
    pub fn patterns(&self) -> PatternCounts {
        self.patterns
    }

    /// The groups to send to, without RPCs yet.
    fn choose(&mut self, pattern: Pattern) {
        let (order, own) = (&self.order, self.config.group.0);
        let last = order.len() - 1;
        let rank = order.iter().rev().position(|&group| group == own).unwrap_or(last);
        let to: &[u16] = match pattern {
            Pattern::Hill if rank == 0 => &order[..last.min(self.config.concurrency as usize)],
            Pattern::Valley if rank < last => &order[..1],
            // With an odd number of groups, the one in the middle has no partner.
            Pattern::Pairing if rank < order.len() / 2 => &order[rank..=rank],
            _ => &[],
        };
        self.migrations.extend(to.iter().map(|&to| Migration { to: GroupId(to), count: 0 }));
    }

    /// A batch for each in turn, while RPCs exceed the threshold and the difference a batch.
    fn share_out(&mut self, waiting: u32) {
        let batch_max = self.batch();
        let (mut left, mut source) = ((waiting - self.threshold).min(self.config.bulk), waiting);
        let mut is_worth_it = true;
        while is_worth_it && left > 0 {
            is_worth_it = false;
            for migration in &mut self.migrations {
                let there = &mut self.lengths[migration.to.index()];
                let batch = batch_max.min(left);
                if batch > 0 && source.saturating_sub(*there) > batch_max {
                    (migration.count, *there) = (migration.count + batch, *there + batch);
                    (source, left, is_worth_it) = (source - batch, left - batch, true);
                }
            }
        }
        self.migrations.retain(|migration| migration.count > 0);
    }
}
