//! The division of cores: groups of types from the shortest on, each with the next cores.

use super::DarcConfig;
use super::profile::Profile;
use crate::id::CoreId;
use crate::schedule::typed_queues::{RpcType, TypeSet};
use alloc::boxed::Box;
use alloc::vec;
use core::ops::Range;

/// Types of about the same length.
#[derive(Clone, Copy, Debug)]
struct Group {
    types: TypeSet,
    /// The first core that it may use; all later cores are its own or belong to longer groups.
    first: u16,
    cores: u16,
}

/// [`first`](Group::first) never decreases: the groups that a core may serve are a prefix.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    groups: Box<[Group]>,
    len: usize,
    group_of: Box<[u8]>,
    /// The types from the shortest on; types not seen yet are last.
    order: Box<[RpcType]>,
}

impl Plan {
    pub(super) fn all_for_all(types: u8, cores: u16) -> Self {
        let all = Group { types: TypeSet::below(types), first: 0, cores };
        let count = usize::from(types);
        let order = (0..types).map(RpcType).collect();
        Self { groups: vec![all; count].into(), len: 1, group_of: vec![0; count].into(), order }
    }

    #[inline]
    pub(super) fn first_core(&self, kind: RpcType) -> CoreId {
        CoreId(self.group(kind).first)
    }

    /// The waiting types of the shortest group that `core` serves and that has one.
    #[inline]
    pub(super) fn shortest_that_waits(&self, core: CoreId, waiting: TypeSet) -> Option<TypeSet> {
        let may_take = self.groups[..self.len].iter().take_while(|group| group.first <= core.0);
        may_take.map(|group| group.types.and(waiting)).find(|types| !types.is_empty())
    }

    pub(super) fn reserved(&self, kind: RpcType) -> Range<u16> {
        let Group { first, cores, .. } = *self.group(kind);
        first..first + cores
    }

    pub(super) const fn groups(&self) -> usize {
        self.len
    }

    fn group(&self, kind: RpcType) -> &Group {
        &self.groups[usize::from(self.group_of[usize::from(kind.0)])]
    }

    /// Groups the types again and divides the cores by each group's demand.
    pub(super) fn part(&mut self, profile: &Profile, config: &DarcConfig) {
        self.order.sort_unstable_by_key(|&kind| (profile.mean(kind).is_none(), profile.mean(kind), kind));
        self.form_groups(profile, config.group_percent);
        self.give_cores(profile, config.cores);
    }

    fn form_groups(&mut self, profile: &Profile, percent: u8) {
        self.len = 0;
        let mut shortest = None;
        for &kind in &self.order {
            let mean = profile.mean(kind);
            let joins = self.len > 0
                && match (shortest, mean) {
                    (Some(shortest), Some(mean)) => is_within(mean, shortest, percent),
                    (shortest, mean) => shortest == mean,
                };
            if !joins {
                self.groups[self.len] = Group { types: TypeSet::EMPTY, first: 0, cores: 0 };
                self.len += 1;
                shortest = mean;
            }
            self.groups[self.len - 1].types.insert(kind);
            #[expect(clippy::cast_possible_truncation, reason = "at most as many groups as types")]
            let group = (self.len - 1) as u8;
            self.group_of[usize::from(kind.0)] = group;
        }
    }

    /// At least one core for each group while there are any; further groups share the last core.
    fn give_cores(&mut self, profile: &Profile, cores: u16) {
        let total = profile.work_total().max(1);
        let mut given = 0;
        for group in &mut self.groups[..self.len] {
            let work: u128 = group.types.map(|kind| profile.work(kind)).sum();
            let wanted = rounded(work * u128::from(cores), total).max(1);
            group.first = given.min(cores - 1);
            group.cores = wanted.min(cores - given);
            given += group.cores;
        }
        // Cores left by rounding go to the longest group, whose cores are open to all.
        let last = &mut self.groups[self.len - 1];
        last.cores += cores - given;
    }
}

fn is_within(mean: crate::time::Span, shortest: crate::time::Span, percent: u8) -> bool {
    u128::from(mean.as_ps()) * 100 <= u128::from(shortest.as_ps()) * (100 + u128::from(percent))
}

/// The quotient, rounded up only above a half.
fn rounded(numerator: u128, denominator: u128) -> u16 {
    let (whole, rest) = (numerator / denominator, numerator % denominator);
    u16::try_from(whole + u128::from(2 * rest > denominator)).unwrap_or(u16::MAX)
}
