//! The share of RPCs that the hottest core gets, computed from the shares of flows or keys.

use crate::error::SimError;
use crate::load::population::{Flows, Population};
use crate::load::{Load, Source};
use crate::system::System;
use nebula_nic::{Choose, Header, KeyHash, NodeId, Policy, Rss, StaticFlow};
use nebula_workload::Seed;

/// The hash of the key of this rank, or of the RPC of this number where each has its own key.
pub(crate) const fn key_hash(rank: u32) -> u32 {
    let mixed = (rank as u64 ^ 0x5bd1_e995).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 32) as u32
}

/// The highest ratio, among the cores of all servers, of a core's share of its server's RPCs to its
/// share of the server's speed. `None` if flow and key do not determine the core, or if the flows'
/// shares are unknown.
fn hottest_times(system: &System, load: &Load, seed: Seed) -> Option<f64> {
    let workers = system.workers();
    let of_flow = |flow: u32| Header { snid: NodeId(flow), ..Header::default() };
    let of_key = |key: u32| Header { key_hash: key_hash(key), ..Header::default() };
    let of_servers = |population: &Population, header: &dyn Fn(u32) -> Header| {
        let server = |index: u64| {
            let hash = &mut Rss::new(workers, seed.replica(index).0);
            hottest(system, population, &mut |rank| hash.choose(&header(rank)).index())
        };
        (0..u64::from(system.servers)).map(server).fold(0.0, f64::max)
    };
    match (system.policy, load.flows, &load.keys) {
        _ if system.custom.is_some() || system.router.is_some() => None,
        (Policy::Rss, Flows::Among(flows), _) => Some(of_servers(&flows, &of_flow)),
        (Policy::Static, Flows::Among(flows), _) => {
            Some(hottest(system, &flows, &mut |flow| StaticFlow::new(workers).choose(&of_flow(flow)).index()))
        }
        (Policy::KeyHash, _, Some(keys)) => {
            Some(hottest(system, keys, &mut |key| KeyHash::new(workers).choose(&of_key(key)).index()))
        }
        _ => None,
    }
}

fn hottest(system: &System, population: &Population, core: &mut dyn FnMut(u32) -> usize) -> f64 {
    let workers = usize::from(system.workers());
    let mut shares = vec![0.0_f64; workers];
    (0..).zip(population.shares()).for_each(|(rank, share)| shares[core(rank)] += share);
    let of_core = |(core, share)| match &system.speeds {
        None => share * workers as f64,
        Some(speeds) => share * speeds.sum() / speeds.of_cores()[core],
    };
    shares.into_iter().enumerate().map(of_core).fold(0.0, f64::max)
}

/// The most popular flow with fewer RPCs than the mean; `None` if none has, or shares are unknown.
pub(crate) fn first_light(load: &Load) -> Option<u32> {
    let Flows::Among(flows) = &load.flows else { return None };
    let mean = 1.0 / f64::from(flows.count);
    // Shares that are equal but for rounding are not below the mean.
    (0..).zip(flows.shares()).find(|&(_, share)| share < mean * (1.0 - 1e-9)).map(|(flow, _)| flow)
}

/// Whether cores differ in load by more than chance.
pub(crate) fn cores_differ(system: &System, load: &Load) -> bool {
    !load.is_even() || system.speeds.is_some()
}

/// Refuses a load that the hottest core cannot serve while its queue has no bound.
pub(crate) fn check(system: &System, load: &Load, seed: Seed) -> Result<(), SimError> {
    let Source::Open { utilization, .. } = load.source else { return Ok(()) };
    if system.queue_bound.is_some() {
        return Ok(());
    }
    let Some(times) = hottest_times(system, load, seed) else { return Ok(()) };
    // `times` already allows for the speeds, so this is the saturation of equal cores.
    let most = System { speeds: None, ..system.clone() }.saturation(&load.service) / times;
    if utilization < most {
        return Ok(());
    }
    Err(SimError::HotCore { policy: system.policy, times, load: utilization, most })
}
