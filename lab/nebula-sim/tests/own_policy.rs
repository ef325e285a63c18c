//! A policy of this test's own, simulated without a fork.

use nebula_nic::{Choose, CoreId, CustomPolicy, Header, NodeId, PerCore, Policy, Rss, SingleQueue};
use nebula_sim::{Effort, Length, Load, System, estimate, run};
use nebula_workload::Seed;

const LENGTH: Length = Length::of(20_000);

fn load() -> Load {
    Load::open("exp:1us".parse().expect("a service time"), 0.8)
}

fn p99(system: &System) -> f64 {
    run(system, &load(), LENGTH, Seed(1)).expect("it runs").latency.quantile(0.99)
}

/// Senders of even numbers at the first core, the others by hash.
#[derive(Clone)]
struct Crowded(Rss);

impl Choose for Crowded {
    fn choose(&mut self, header: &Header) -> CoreId {
        if header.snid.0.is_multiple_of(16) {
            CoreId(0)
        } else {
            self.0.choose(&Header { snid: NodeId(!header.snid.0), ..*header })
        }
    }
}

#[test]
fn an_own_policy_that_is_a_built_in_one_gives_its_figures() {
    let copy = CustomPolicy::try_new("copy", |cores, _| SingleQueue::new(cores)).expect("a name");
    let (own, built_in) = (System::new(Policy::Rss, 8).policy_with(copy), System::new(Policy::SingleQueue, 8));
    let [own, built_in] = [own, built_in].map(|system| run(&system, &load(), LENGTH, Seed(1)).expect("it runs"));
    assert_eq!(own.latency.mean(), built_in.latency.mean(), "the same decisions");
    assert_eq!(own.latency.quantile(0.999), built_in.latency.quantile(0.999));
}

#[test]
fn an_own_policy_decides() {
    let crowded = |cores, seed| PerCore::new(cores, Crowded(Rss::new(cores, seed)));
    let own = System::new(Policy::default(), 8).policy_with(CustomPolicy::try_new("crowded", crowded).expect("a name"));
    assert!(p99(&own) > p99(&System::new(Policy::Rss, 8)), "one core has more senders");
    let effort = Effort::default().rpcs(LENGTH.rpcs).replications(3);
    let estimate = estimate(&own, &load(), &effort, &|| ()).expect("replications run");
    assert_eq!(estimate.replications(), 3);
    assert!(estimate.p99().value > 0.0);
}
