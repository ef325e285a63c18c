//! The points of a comparison: each system at each load, validated before the first run.

use nebula_sim::study::{Ask, Point, text, units};
use nebula_sim::{Effort, Load, SimError, System, SystemModel};
use nebula_workload::{Preset, ServiceTime};

use super::Question;
use crate::Failure;
use crate::words::shipped_or_file;

/// The load of a point whose load a search determines.
const LOWEST: f64 = 0.01;

pub(super) struct Plan {
    pub(super) points: Vec<Point>,
    pub(super) sources: Vec<String>,
    service: ServiceTime,
    workload: String,
}

impl Plan {
    pub(super) fn of(args: &Question) -> Result<Self, Failure> {
        let (service, workload) = workload(args)?;
        args.effort.of_comparison().validate()?;
        let systems = systems(args)?;
        let mut plan = Self { points: Vec::new(), sources: Vec::new(), service, workload };
        for (name, title, system) in systems {
            plan.sources.push(format!("{name}: {title}; {}.", costs(&system)));
            plan.add(args, &name, &system)?;
        }
        match plan.points.is_empty() {
            true => Err(Failure::bad_input(
                "--system none leaves nothing to compare: name a system, or add policies with --policy",
            )),
            false => Ok(plan),
        }
    }

    fn add(&mut self, args: &Question, name: &str, system: &System) -> Result<(), Failure> {
        let loads = args
            .load
            .as_ref()
            .map_or(vec![(LOWEST, Ask::FindLoad)], |loads| loads.0.iter().map(|&load| (load, Ask::Measure)).collect());
        for (load, ask) in loads {
            let load = Load::open(self.service.clone(), load);
            system.validate()?;
            load.validate(system)?;
            let slo = args.slo.of(&load);
            let (name, effort) = (name.to_owned(), args.effort.of_comparison());
            self.points.push(Point { name, system: system.clone(), load, slo, ask, effort });
        }
        Ok(())
    }

    pub(super) fn setting(&self, args: &Question, effort: &Effort) -> String {
        format!(
            "{} cores, workload {}: service {}, mean {}; poisson arrivals; {} replications of {} RPCs, seed {}. All figures are simulated and do not depend on this machine.",
            args.cores,
            self.workload,
            self.service,
            text::time(self.service.mean_ps() / 1e3),
            effort.replications,
            units::rate(effort.rpcs as f64),
            effort.seed.0,
        )
    }
}

fn workload(args: &Question) -> Result<(ServiceTime, String), Failure> {
    match &args.service {
        Some(service) => Ok((service.clone(), "custom".to_owned())),
        None => {
            let (preset, service) = Preset::parse(&args.workload)?;
            Ok((service, format!("{}, {}", args.workload, preset.what)))
        }
    }
}

/// All systems that ship with Nebula.
pub fn shipped() -> impl Iterator<Item = SystemModel> {
    SystemModel::shipped().filter_map(SystemModel::named)
}

fn systems(args: &Question) -> Result<Vec<(String, String, System)>, Failure> {
    let models = match &args.system[..] {
        [] => shipped().collect(),
        [none] if none == "none" => Vec::new(),
        names => names.iter().map(|name| model(name)).collect::<Result<_, _>>()?,
    };
    let built = |model: SystemModel| {
        let of_cores = |error: SimError| Failure::bad_input(format!("--system {}: {error}", model.name));
        Ok((model.name.clone(), model.title.clone(), model.system(args.cores).map_err(of_cores)?))
    };
    let ideals = args.policy.iter().map(|&policy| {
        Ok((policy.to_string(), "the policy without costs".to_owned(), System::new(policy, args.cores)))
    });
    models.into_iter().map(built).chain(ideals).collect()
}

fn model(text: &str) -> Result<SystemModel, Failure> {
    let names = SystemModel::shipped();
    shipped_or_file("--system", text, names, SystemModel::source, SystemModel::parse).map(|(_, model)| model)
}

fn costs(system: &System) -> String {
    let costs = system.costs;
    let each = [
        ("receive", costs.receive),
        ("dispatcher decision", costs.decision),
        ("dispatch", costs.dispatch),
        ("completion notice", costs.notify),
        ("lock handoff", costs.lock_handoff),
        ("steal", costs.steal),
        ("interrupt", costs.interrupt),
        ("hop of the mesh", costs.hop),
        ("look at each core", costs.per_core),
    ];
    let said =
        each.iter().filter(|(_, cost)| cost.as_ps() > 0).map(|(what, cost)| format!("{what} {}", units::span(*cost)));
    let batch = system.batch.map(|batch| format!("batches of up to {}", batch.max));
    let dedicated =
        (system.dedicated > 0).then(|| format!("{} of {} cores only schedule", system.dedicated, system.cores));
    let bound = system.queue_bound.map(|bound| format!("at most {bound} waiting"));
    let servers = (system.servers > 1).then(|| format!("{} servers", system.servers));
    let router =
        system.router.map(|router| format!("a router that chooses by {router}, {} away", units::span(router.dispatch)));
    let host = system.host.map(|host| {
        let batch = if host.batch > 1 { format!(", batches of {}", host.batch) } else { String::new() };
        format!(
            "{} to the NIC{batch}, {} of core time an RPC and {} a batch, {} a crossing",
            host.interface.name(),
            units::span(host.per_rpc),
            units::span(host.store),
            units::span(host.hop),
        )
    });
    let said: Vec<String> =
        said.chain([batch, dedicated, bound, servers, router, host].into_iter().flatten()).collect();
    let said = if said.is_empty() { "no costs".to_owned() } else { said.join(", ") };
    format!("policy {}, {said}", system.policy)
}
