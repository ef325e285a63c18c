//! One group: its NIC, its manager, its workers.

use super::published::Published;
use crate::error::SimError;
use crate::load::Load;
use crate::system::System;
use crate::system::altocumulus::Altocumulus;
use crate::world::cpu::central_server::Core;
use nebula_nic::schedule::{Manager, ManagerConfig};
use nebula_nic::{Backend, CentralDispatch, CoreId, Dispatch, GroupConfig, GroupId, SlotRange, Span, Timestamp};
use std::collections::VecDeque;

pub(super) struct Group<D: CentralDispatch> {
    pub(super) id: GroupId,
    pub(super) nic: Backend<D>,
    pub(super) manager: Manager,
    pub(super) published: Published,
    pub(super) cores: Box<[Core]>,
    // -- in the calendar --
    pub(super) first: usize,
    pub(super) wire: usize,
    // -- messages between NIC and workers, in the order of sending --
    pub(super) dispatches: VecDeque<(Timestamp, Dispatch)>,
    pub(super) frees: VecDeque<(Timestamp, CoreId, SlotRange)>,
    pub(super) dispatcher_free: Timestamp,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) group: u32,
    pub(super) core: Option<u16>,
}

impl<D: CentralDispatch> Group<D> {
    pub(super) fn try_new(
        system: &System,
        options: &Altocumulus,
        load: &Load,
        number: usize,
        slots: u32,
        dispatch: &impl Fn(u16) -> D,
    ) -> Result<Self, SimError> {
        let groups = system.groups();
        let group = u16::try_from(number % usize::from(groups)).expect("below the groups");
        let workers = system.workers_of_group(group);
        let mut backend = system.backend(slots, 0)?;
        backend.cores = workers;
        // Admission control divides a bound over queues in the same way.
        backend.queue_bound = backend.queue_bound.div_ceil(u32::from(groups));
        let config = GroupConfig { backend, group: GroupId(group), groups, foreign_max: options.fifo };
        let dispatch = dispatch(workers);
        let bound = dispatch.bound();
        Ok(Self {
            id: config.group,
            nic: Backend::try_group_with(config, dispatch)?,
            manager: Manager::try_new(manager(options, load, GroupId(group), groups, workers))?,
            published: Published::new(options.period, options.message),
            cores: (0..workers).map(|id| Core::new(id, bound)).collect(),
            first: 0,
            wire: 0,
            dispatches: VecDeque::new(),
            frees: VecDeque::new(),
            dispatcher_free: Timestamp::ZERO,
        })
    }

    pub(super) fn next_on_wire(&self) -> Option<Timestamp> {
        let dispatch = self.dispatches.front().map(|&(at, _)| at);
        let free = self.frees.front().map(|&(at, ..)| at);
        dispatch.into_iter().chain(free).min()
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a mean of at most a second")]
fn manager(options: &Altocumulus, load: &Load, group: GroupId, groups: u16, workers: u16) -> ManagerConfig {
    let service = Span::from_ps(load.service.mean_ps() as u64);
    ManagerConfig::new(group, groups, workers, service, options.thresholds.clone())
        .period(options.period)
        .bulk(options.bulk, options.concurrency)
}

/// Numbers the calendar's sources: all cores, then the messages of each group.
pub(super) fn places<D: CentralDispatch>(groups: &mut [Group<D>]) -> Box<[Place]> {
    let mut places = Vec::new();
    for (number, group) in (0..).zip(groups.iter_mut()) {
        group.first = places.len();
        places.extend((0..).zip(&group.cores).map(|(core, _)| Place { group: number, core: Some(core) }));
    }
    for (number, group) in (0..).zip(groups) {
        group.wire = places.len();
        places.push(Place { group: number, core: None });
    }
    places.into()
}
