//! The runs of CI: every policy in every size of server and every mix, mostly in small models.

use crate::lockstep::{Failure, Report, Run};
use crate::model;
use crate::rtl::has_queue_per_core;
use crate::traffic::{MIXES, Mix};
use nebula_nic::{BackendConfig, Policy, ScrubMode, Span};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Each model's share of all inputs, in percent.
const SHARES: &[(&str, u64)] =
    &[("backend16", 46), ("backend64", 24), ("backend256", 14), ("backend1024", 11), ("trusted16", 5)];

/// Decisions must not depend on the registers' first values.
pub const X_SEEDS: [u64; 3] = [1, 2, 3];

/// The policies of a model.
#[must_use]
pub fn policies(model: &str) -> Vec<Policy> {
    let bound_max = model::parameter(model, "BoundMax").unwrap_or(0);
    let samples = Policy::SAMPLES.iter().filter_map(|text| text.parse::<Policy>().ok());
    let fits = |policy: &Policy| has_queue_per_core(*policy) || u64::from(policy.bound()) <= bound_max;
    // The NIC decides for these as for another one in this list: the smallest model covers them.
    let is_alias = |policy: &Policy| {
        matches!(policy, Policy::McsLock | Policy::Preemptive(_) | Policy::Altocumulus(_) | Policy::Jbsq(1))
    };
    let is_wanted = |policy: &Policy| model == "backend16" || !is_alias(policy);
    samples.filter(|policy| *policy != Policy::Darc && fits(policy) && is_wanted(policy)).collect()
}

/// A server as large as the model, with as many slots as the mix needs to fill it.
///
/// # Panics
///
/// If the model was not compiled, or is no back end.
#[must_use]
pub fn config(model: &str, policy: Policy, mix: &Mix, seed: u64) -> BackendConfig {
    let parameter = |name| {
        let value = model::parameter(model, name).expect("a parameter of a back end that was compiled");
        u32::try_from(value).expect("few")
    };
    let cores = parameter("Cores");
    BackendConfig::new(u16::try_from(cores).expect("few"), policy)
        .slots(parameter("Slots").min((cores * mix.slots_per_core).max(1000)))
        .queue_capacity(parameter("Places"))
        .reassembler_entries(parameter("Entries"))
        .reassembly_timeout(Span::from_us(4))
        .scrub(ScrubMode::Ahead)
        .seed(seed)
}

/// All runs, with at least `inputs` inputs together.
#[must_use]
pub fn runs(inputs: u64) -> Vec<Run> {
    let compiled: Vec<_> = SHARES.iter().filter(|(name, _)| model::names().any(|model| model == *name)).collect();
    let whole: u64 = compiled.iter().map(|(_, share)| share).sum();
    let mut runs = Vec::new();
    for (name, share) in compiled {
        let policies = policies(name);
        let each = (inputs * share).div_ceil(whole * (policies.len() * MIXES.len()) as u64);
        for (number, policy) in policies.into_iter().enumerate() {
            for (at, mix) in MIXES.iter().enumerate() {
                // A trusted front end frees only ranges that its core holds.
                let hostile = if name.starts_with("trusted") { 0 } else { mix.hostile };
                let mix = Mix { hostile, ..*mix };
                let seed = (number * MIXES.len() + at) as u64;
                let x_seed = X_SEEDS[(number + at) % X_SEEDS.len()];
                let config = config(name, policy, &mix, seed);
                runs.push(Run { model: name, config, mix, inputs: each, seed, x_seed });
            }
        }
    }
    runs
}

/// Runs all of `runs` in parallel; returns each report or failure, in order.
///
/// # Panics
///
/// If a run does.
pub fn run_all(runs: &[Run]) -> Vec<Result<Report, Failure>> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<Result<Report, Failure>>>> = runs.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(run) = runs.get(at) else { break };
                    *results[at].lock().expect("nobody panics with it") = Some(run.run());
                }
            });
        }
    });
    results.into_iter().map(|result| result.into_inner().expect("nobody panicked").expect("each was run")).collect()
}
