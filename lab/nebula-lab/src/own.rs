//! A caller's policies: a function chooses the core.
//!
//! [`CustomPolicy`] carries the dispatch out, with the state machines of Nebula's policies; only
//! the choice is the caller's. An impossible choice ends the question with a fault.

use std::sync::{Arc, Mutex, PoisonError};

use nebula_nic::{ArrivalQueue, CentralDispatch, CoreId, CustomPolicy, Header, Placement, Queues};
use nebula_workload::{Rng, Seed};

use crate::Failure;

/// Chooses cores.
pub trait Decide: Send + Sync {
    /// The core for an RPC. `load` has a number per core, `key` is the RPC's key or else its flow,
    /// `draw` is a random number.
    ///
    /// # Errors
    ///
    /// The reason to end the question.
    fn decide(&self, load: &[u32], key: u64, draw: u64) -> Result<i64, String>;
}

/// When a policy decides, and the loads that it sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// An RPC arrives and joins a core's queue. A load counts the core's RPCs, waiting or given.
    Arrival,
    /// When a core has room; it takes the first RPC of the shared queue. A load counts the RPCs
    /// given to the core, at most this many.
    Room(u32),
}

/// A caller's policy.
#[derive(Clone)]
pub struct OwnPolicy {
    policy: CustomPolicy,
    faults: Faults,
}

#[derive(Clone, Debug, Default)]
struct Faults(Arc<Mutex<Option<String>>>);

impl Faults {
    fn tell(&self, why: impl FnOnce() -> String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(why);
    }
}

impl OwnPolicy {
    /// A policy named `custom:NAME`.
    ///
    /// # Errors
    ///
    /// Invalid input: a name with characters other than `a` to `z`, `0` to `9` and `-`, or with
    /// more than 31; room for 0, or more than 64, RPCs at a core.
    pub fn new(name: &str, when: When, decide: Arc<dyn Decide>) -> Result<Self, Failure> {
        if let When::Room(bound) = when
            && !(1..=64).contains(&bound)
        {
            return Err(Failure::bad_input(format!("a core has room for 1 to 64 RPCs, not {bound}")));
        }
        let faults = Faults::default();
        let (told, label) = (faults.clone(), name.to_owned());
        let make = move |cores, seed| Own::new(cores, seed, when, decide.clone(), told.clone(), label.clone());
        let policy = CustomPolicy::try_new(name, make).map_err(Failure::bad_input)?;
        Ok(Self { policy, faults })
    }

    pub(crate) const fn policy(&self) -> &CustomPolicy {
        &self.policy
    }

    pub(crate) fn fault(&self) -> Option<Failure> {
        let told = self.faults.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        told.map(Failure::fault)
    }
}

impl std::fmt::Debug for OwnPolicy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("OwnPolicy").field(&self.policy).finish()
    }
}

#[derive(Clone)]
struct Own {
    when: When,
    decide: Arc<dyn Decide>,
    faults: Faults,
    name: String,
    /// RPCs given to each core and not freed.
    outstanding: Vec<u32>,
    with_room: usize,
    /// The loads that a choice sees, rewritten for each.
    load: Vec<u32>,
    rng: Rng,
}

impl Own {
    fn new(cores: u16, seed: u64, when: When, decide: Arc<dyn Decide>, faults: Faults, name: String) -> Self {
        let idle = vec![0; usize::from(cores)];
        let rng = Seed(seed).stream("own-policy");
        Self { when, decide, faults, name, with_room: idle.len(), load: idle.clone(), outstanding: idle, rng }
    }

    /// The choice, if it is possible; otherwise `instead`, and a fault that ends the question.
    fn choice(&self, chosen: Result<i64, String>, instead: usize, is_possible: impl Fn(usize) -> bool) -> CoreId {
        let cores = self.outstanding.len();
        let core = match chosen {
            Ok(core) => match usize::try_from(core).ok().filter(|&core| core < cores && is_possible(core)) {
                Some(core) => core,
                None => {
                    let name = &self.name;
                    self.faults.tell(|| {
                        format!("the policy {name} chose core {core}: give one of 0 to {} that has room", cores - 1)
                    });
                    instead
                }
            },
            Err(why) => {
                self.faults.tell(|| why);
                instead
            }
        };
        CoreId(u16::try_from(core).unwrap_or(0))
    }
}

impl CentralDispatch for Own {
    fn queues(&self) -> Queues {
        match self.when {
            When::Arrival => Queues::PerCore,
            When::Room(_) => Queues::Shared,
        }
    }

    fn place(&mut self, header: &Header, waiting: &ArrivalQueue) -> Placement {
        if self.when != When::Arrival {
            return Placement::Shared;
        }
        for (index, load) in (0..).zip(&mut self.load) {
            *load = waiting.waiting_at(Placement::Core(CoreId(index))) + self.outstanding[usize::from(index)];
        }
        let key = if header.key_hash == 0 { u64::from(header.snid.0) } else { u64::from(header.key_hash) };
        let draw = self.rng.next_u64();
        let chosen = self.decide.decide(&self.load, key, draw);
        Placement::Core(self.choice(chosen, 0, |_| true))
    }

    fn pick(&mut self) -> Option<CoreId> {
        let When::Room(bound) = self.when else { return None };
        if self.with_room == 0 {
            return None;
        }
        let draw = self.rng.next_u64();
        let chosen = self.decide.decide(&self.outstanding, 0, draw);
        let instead = self.outstanding.iter().position(|&given| given < bound)?;
        Some(self.choice(chosen, instead, |core| self.outstanding[core] < bound))
    }

    fn handle_dispatched(&mut self, core: CoreId) {
        let given = &mut self.outstanding[core.index()];
        *given += 1;
        if matches!(self.when, When::Room(bound) if *given == bound) {
            self.with_room -= 1;
        }
    }

    fn handle_freed(&mut self, core: CoreId) {
        let given = &mut self.outstanding[core.index()];
        if matches!(self.when, When::Room(bound) if *given == bound) {
            self.with_room += 1;
        }
        *given -= 1;
    }

    fn outstanding(&self, core: CoreId) -> u32 {
        self.outstanding.get(core.index()).copied().unwrap_or(0)
    }

    fn bound(&self) -> u32 {
        match self.when {
            When::Arrival => nebula_nic::PER_CORE_BOUND,
            When::Room(bound) => bound,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Question;
    use nebula_sim::study::Row;

    struct By<F>(F);

    impl<F: Fn(&[u32]) -> i64 + Send + Sync> Decide for By<F> {
        fn decide(&self, load: &[u32], _: u64, _: u64) -> Result<i64, String> {
            Ok((self.0)(load))
        }
    }

    fn ask(when: When, choose: impl Fn(&[u32]) -> i64 + Send + Sync + 'static) -> Result<Vec<Row>, Failure> {
        let own = OwnPolicy::new("mine", when, Arc::new(By(choose)))?;
        let words = "--policy jbsq:2 --cores 8 --load 0.8 --rpcs 5k --replications 2 --queue-bound 100";
        Ok(Question::parse(words.split(' '))?.with_policies(vec![own], false).ask(&())?.answer.rows)
    }

    fn p99(row: &Row) -> f64 {
        row.flat()
            .into_iter()
            .find(|(name, _)| name == "latency_ns_p99")
            .map(|(_, text)| text.parse().unwrap())
            .unwrap()
    }

    fn least(load: &[u32]) -> i64 {
        (0..).zip(load).min_by_key(|(_, load)| **load).map_or(-1, |(core, _)| core)
    }

    #[test]
    fn the_least_loaded_core_with_room_is_jbsq() {
        let rows = ask(When::Room(2), least).unwrap();
        assert_eq!(rows.len(), 2);
        assert!((p99(&rows[1]) / p99(&rows[0]) - 1.0).abs() < 0.05, "{} and {}", p99(&rows[0]), p99(&rows[1]));
        assert_eq!(rows[1].texts()[0], "custom:mine");
    }

    #[test]
    fn the_shortest_queue_at_arrival_is_worse_than_one_queue_and_one_core_is_worst() {
        let shortest = p99(&ask(When::Arrival, least).unwrap()[1]);
        let rows = ask(When::Arrival, |_| 3).unwrap();
        assert!(p99(&rows[0]) < shortest && shortest < p99(&rows[1]));
    }

    #[test]
    fn a_core_that_is_none_ends_the_question() {
        for wrong in [-1, 8, i64::MAX] {
            let said = ask(When::Arrival, move |_| wrong).unwrap_err();
            assert_eq!(
                said,
                Failure::Fault(format!("the policy mine chose core {wrong}: give one of 0 to 7 that has room"))
            );
        }
        assert!(ask(When::Room(1), |_| 0).is_err(), "core 0 has no room for a second one");
        assert!(ask(When::Room(0), least).unwrap_err().to_string().contains("1 to 64"));
    }
}
