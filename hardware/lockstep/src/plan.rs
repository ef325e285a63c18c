//! What a run of CI tries: every policy in every size of server and every mix, most of it where it
//! is cheap.

use crate::lockstep::{Failure, Report, Run};
use crate::model;
use crate::rtl::has_queue_per_core;
use crate::traffic::{MIXES, Mix};
use nebula_nic::{BackendConfig, Policy, ScrubMode, Span};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How much of all inputs each model gets, in percent.
const SHARES: &[(&str, u64)] =
    &[("backend16", 46), ("backend64", 24), ("backend256", 14), ("backend1024", 11), ("trusted16", 5)];

/// Seeds of the registers: a decision must not depend on what they begin with.
pub const X_SEEDS: [u64; 3] = [1, 2, 3];

/// The policies of a model.
#[must_use]
pub fn policies(model: &str) -> Vec<Policy> {
    let bound_max = model::parameter(model, "BoundMax").unwrap_or(0);
    let samples = Policy::SAMPLES.iter().filter_map(|text| text.parse::<Policy>().ok());
    let fits = |policy: &Policy| has_queue_per_core(*policy) || u64::from(policy.bound()) <= bound_max;
    // Those that the NIC decides about as about another one in this list, once: in the smallest
    // model.
    let is_alias = |policy: &Policy| {
        matches!(policy, Policy::McsLock | Policy::Preemptive(_) | Policy::Altocumulus(_) | Policy::Jbsq(1))
    };
    let is_wanted = |policy: &Policy| model == "backend16" || !is_alias(policy);
    samples.filter(|policy| *policy != Policy::Darc && fits(policy) && is_wanted(policy)).collect()
}

/// A server in a model: as large as the model, and with as many slots as the mix needs to fill it.
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

/// All runs, of `inputs` inputs together at least.
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
                // A core that the front end is trusted to speak for frees what it holds.
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

/// Does all of `runs`, side by side; each with its report or failure, in order.
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
