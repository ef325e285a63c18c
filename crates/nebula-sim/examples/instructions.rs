//! Simulated RPCs, N of them: for counting their instructions, and for timing them by hand.
//!
//! ```text
//! instructions CASE N [ROUNDS]          without a case there is: a list of cases
//! ```
//!
//! For callgrind: the instructions of a run with 2N less those of a run with N, divided by N, are those of one RPC, without set-up.
//! `cargo xtask bench instructions` does that. With ROUNDS it prints the best round's millions of RPCs per second.

use nebula_nic::{Policy, Span};
use nebula_sim::{Costs, Length, Load, System, run};
use nebula_workload::Seed;
use std::hint::black_box;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (Some(name), Some(rpcs)) = (args.first(), args.get(1)) else { return Err(usage()) };
    let (system, load) = case(name)?;
    let length = Length { warmup: 0, rpcs: rpcs.parse()? };
    let rounds: u32 = args.get(2).map_or(Ok(0), |rounds| rounds.parse())?;
    if rounds == 0 {
        black_box(run(&system, &load, length, Seed(1))?);
        return Ok(());
    }
    let mut best = 0.0_f64;
    for _ in 0..rounds {
        let start = Instant::now();
        black_box(run(&system, &load, length, Seed(1))?);
        best = best.max(length.rpcs as f64 / start.elapsed().as_secs_f64() / 1e6);
    }
    println!("{name:26} {best:8.2} M RPC/s");
    Ok(())
}

fn usage() -> Box<dyn std::error::Error> {
    "usage: instructions POLICY[/CORES][/costs|/mix|/bound] N [ROUNDS]".into()
}

fn case(name: &str) -> Result<(System, Load), Box<dyn std::error::Error>> {
    let mut words = name.split('/');
    let policy: Policy = words.next().ok_or_else(usage)?.parse()?;
    let cores: u16 = words.next().unwrap_or("64").parse()?;
    let groups = if let Policy::Altocumulus(groups) = policy { groups.get() } else { 0 };
    let mut system = System::new(policy, cores).dedicated(groups);
    let mut load = Load::open("exp:1us".parse()?, 0.95);
    for word in words {
        match word {
            "costs" => {
                let costs = Costs { receive: Span::from_ns(50), ..Costs::ZERO };
                system = system.costs(costs);
                load = load.at(0.9);
            }
            "wires" => {
                system = system.costs(Costs { dispatch: Span::from_ns(40), notify: Span::from_ns(25), ..Costs::ZERO });
                load = load.at(0.9);
            }
            "mix" => load = Load::open("mix:short=0.9*fixed:500ns;long=0.1*fixed:5500ns".parse()?, 0.85),
            "bound" => system = system.queue_bound(540),
            "fixed" => load = Load::open("fixed:1us".parse()?, 0.95),
            "bimodal" => load = Load::open("bimodal:500ns@0.9,5500ns@0.1".parse()?, 0.9),
            _ => return Err(usage()),
        }
    }
    Ok((system, load))
}
