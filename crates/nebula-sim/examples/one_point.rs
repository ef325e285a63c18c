//! One operating point, for a profiler: `one_point POLICY CORES RPCS`.

use nebula_sim::{Length, Load, System, run};
use nebula_workload::Seed;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, policy, cores, rpcs] = &arguments[..] else { panic!("give POLICY CORES RPCS") };
    let system = System::new(policy.parse().expect("a policy"), cores.parse().expect("cores"));
    let load = Load::open("exp:1us".parse().expect("a service time"), 0.95);
    let length = Length { warmup: 0, rpcs: rpcs.parse().expect("RPCs") };
    assert!(run(&system, &load, length, Seed(1)).is_ok_and(|tally| tally.served == length.rpcs));
}
