//! Runs the lockstep: `nebula-rtl [--inputs N] [--seed N] [--model NAME] [--policy NAME] [--mix NAME]`.

use nebula_nic::{BackendConfig, Policy, ScrubMode};
use nebula_rtl::lockstep::Run;
use nebula_rtl::model;
use nebula_rtl::traffic::MIXES;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| words.iter().position(|word| word == name).and_then(|at| words.get(at + 1)).cloned();
    let inputs = value("--inputs").map_or(10_000, |text| text.parse().expect("a number of inputs"));
    let seed = value("--seed").map_or(1, |text| text.parse().expect("a seed"));
    let mut failures = 0;
    for name in model::names().filter(|name| value("--model").is_none_or(|wanted| wanted == *name)) {
        let parameter =
            |what| u32::try_from(model::parameter(name, what).expect("a parameter of a back end")).expect("small");
        let cores = u16::try_from(parameter("Cores")).expect("few");
        for text in Policy::SAMPLES.iter().filter(|text| value("--policy").is_none_or(|wanted| wanted == **text)) {
            let policy: Policy = text.parse().expect("a sample");
            if policy == Policy::Darc
                || (policy.bound() > parameter("BoundMax") && !nebula_rtl::rtl::has_queue_per_core(policy))
            {
                continue;
            }
            for mix in MIXES.iter().filter(|mix| value("--mix").is_none_or(|wanted| wanted == mix.name)) {
                let config = BackendConfig::new(cores, policy)
                    .slots(parameter("Slots"))
                    .queue_capacity(parameter("Places"))
                    .reassembler_entries(parameter("Entries"))
                    .reassembly_timeout(nebula_nic::Span::from_ns(600))
                    .scrub(ScrubMode::Ahead)
                    .seed(seed);
                let run = Run { model: name, config, mix: *mix, inputs, seed, x_seed: seed };
                match run.run() {
                    Ok(report) => println!(
                        "{name} {policy} {}: {} inputs, {:.4} a cycle, waited at most {}, dispatch within {}; writes {} nacks {:?} drops {} frees {:?} dispatches {} abandoned {} scrubs {:?}",
                        mix.name,
                        report.inputs,
                        report.inputs_per_cycle(),
                        report.waited_max(),
                        report.dispatch_cycles_max,
                        report.writes,
                        &report.nacks[1..5],
                        report.drops,
                        report.frees,
                        report.dispatches,
                        report.abandoned,
                        report.scrubs
                    ),
                    Err(failure) => {
                        failures += 1;
                        println!("{name} {policy} {}: {failure}", mix.name);
                    }
                }
            }
        }
    }
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
