//! Simulated RPCs, N of them: for counting their instructions, and for timing them by hand.
//!
//! ```text
//! instructions POLICY[/CORES][/WORD…] N [ROUNDS]        words: costs, wires, bound, fixed, bimodal, mix, lanes
//! instructions server/DESIGN N [ROUNDS]                 with all their blocks, on the paper's machine with an LLC that few RPCs fill
//! ```
//!
//! For callgrind: the instructions of a run with 2N less those of a run with N, divided by N, are
//! those of one RPC, without set-up. `cargo xtask bench instructions` does that. With ROUNDS it
//! prints the best round's millions of RPCs per second.

use nebula_nic::{Policy, Span};
use nebula_sim::blocks::{self, Application, Design, Machine, Scenario};
use nebula_sim::lanes::{self, LANES, Lane};
use nebula_sim::{Costs, Length, Load, SimError, System, run};
use nebula_workload::{Rate, Seed};
use std::hint::black_box;
use std::io::Write;
use std::time::Instant;

type Failure = Box<dyn std::error::Error>;

/// Simulates so many RPCs.
type Simulate = Box<dyn Fn(u64) -> Result<(), Failure>>;

fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (Some(name), Some(rpcs)) = (args.first(), args.get(1)) else { return Err(usage()) };
    let rpcs = rpcs.parse()?;
    let case: Simulate = match name.strip_prefix("server/") {
        Some(design) => server(design)?,
        None => {
            let case = Case::parse(name)?;
            Box::new(move |rpcs| Ok(case.simulate(rpcs)?))
        }
    };
    let rounds: u32 = args.get(2).map_or(Ok(0), |rounds| rounds.parse())?;
    if rounds == 0 {
        return case(rpcs);
    }
    let mut best = 0.0_f64;
    for _ in 0..rounds {
        let start = Instant::now();
        case(rpcs)?;
        best = best.max(rpcs as f64 / start.elapsed().as_secs_f64() / 1e6);
    }
    writeln!(std::io::stdout(), "{name:26} {best:8.2} M RPC/s")?;
    Ok(())
}

fn usage() -> Failure {
    "usage: instructions POLICY[/CORES][/costs|/wires|/bound|/fixed|/bimodal|/mix|/lanes] N [ROUNDS], or server/DESIGN N [ROUNDS]".into()
}

/// RPCs of a key-value store at the server level, 12 million a second.
fn server(design: &str) -> Result<Simulate, Failure> {
    let text = Machine::source("isca20").ok_or_else(usage)?;
    let machine = Machine::parse_with(text, &[("memory.llc.bytes", f64::from(4 << 20))])?;
    let design = Design::named(design).ok_or_else(usage)?;
    let scenario = Scenario::new(machine, design, Application::key_value(0.5, 512));
    let rate = Rate::try_new(12e6)?;
    Ok(Box::new(move |rpcs| {
        black_box(blocks::run(&scenario, rate, Length { warmup: 0, rpcs }, Seed(1))?);
        Ok(())
    }))
}

struct Case {
    system: System,
    load: Load,
    utilization: f64,
    has_lanes: bool,
}

impl Case {
    fn parse(name: &str) -> Result<Self, Failure> {
        let mut words = name.split('/');
        let policy: Policy = words.next().ok_or_else(usage)?.parse()?;
        let cores: u16 = words.next().unwrap_or("64").parse()?;
        let managers = if let Policy::Altocumulus(groups) = policy { groups.get() } else { 0 };
        let mut case = Self {
            system: System::new(policy, cores).dedicated(managers),
            load: Load::open("exp:1us".parse()?, 0.95),
            utilization: 0.95,
            has_lanes: false,
        };
        words.try_for_each(|word| case.add(word))?;
        case.load = case.load.at(case.utilization);
        Ok(case)
    }

    fn add(&mut self, word: &str) -> Result<(), Failure> {
        let ns = Span::from_ns;
        let offer = |case: &mut Self, service: &str, utilization| -> Result<(), Failure> {
            (case.load.service, case.utilization) = (service.parse()?, utilization);
            Ok(())
        };
        match word {
            "costs" => (self.system.costs.receive, self.utilization) = (ns(50), 0.9),
            "wires" => {
                self.system.costs = Costs { dispatch: ns(40), notify: ns(25), ..Costs::ZERO };
                self.utilization = 0.9;
            }
            "bound" => self.system.queue_bound = Some(540),
            "lanes" => self.has_lanes = true,
            "fixed" => offer(self, "fixed:1us", 0.95)?,
            "bimodal" => offer(self, "bimodal:500ns@0.9,5500ns@0.1", 0.9)?,
            "mix" => offer(self, "mix:short=0.9*fixed:500ns;long=0.1*fixed:5500ns", 0.85)?,
            _ => return Err(usage()),
        }
        Ok(())
    }

    fn simulate(&self, rpcs: u64) -> Result<(), SimError> {
        if !self.has_lanes {
            black_box(run(&self.system, &self.load, Length { warmup: 0, rpcs }, Seed(1))?);
            return Ok(());
        }
        let length = Length { warmup: 0, rpcs: rpcs / LANES as u64 };
        let lane = |index| Lane { load: self.utilization, length, seed: Seed(1).replica(index) };
        let each: Vec<Lane> = (0..LANES as u64).map(lane).collect();
        black_box(lanes::on_time(&self.system, &self.load, &each, Span::from_us(10))?);
        Ok(())
    }
}
