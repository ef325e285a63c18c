//! The runs of figure 2: every design at every load, and the searches between them.

use super::super::paper::Fig2;
use crate::executor::{replications as indices, try_each};
use crate::interval::Interval;
use crate::memory::{self, Design, MemoryModel, MemoryRun, MemoryTally};
use crate::reproduce::lab::Lab;
use crate::reproduce::reproduction::ReproduceError;

pub(super) struct Model {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) machine: MemoryModel,
}

impl Model {
    pub(super) fn artefact(setup: &Fig2) -> Self {
        Self { id: "artefact", title: "the artefact's arrivals and dice", machine: setup.model.clone() }
    }

    /// The same machine with the dice, row hits and arrivals that the text names.
    pub(super) fn textbook(setup: &Fig2) -> Self {
        let MemoryModel { packet_gaps, dice, row_hits, .. } = MemoryModel::textbook();
        let machine = MemoryModel { packet_gaps, dice, row_hits, ..setup.model.clone() };
        Self { id: "textbook", title: "Poisson arrivals", machine }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    Rss,
    RpcValet,
    Srq,
    Nebula,
}

impl Name {
    pub(super) const ALL: [Self; 4] = [Self::Rss, Self::RpcValet, Self::Srq, Self::Nebula];

    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Rss => "RSS",
            Self::RpcValet => "RPCValet",
            Self::Srq => "SRQ",
            Self::Nebula => "NEBULA",
        }
    }

    const fn design(self) -> Design {
        match self {
            Self::Rss => Design::rss(),
            Self::RpcValet => Design::rpcvalet(),
            Self::Srq => Design::srq(),
            Self::Nebula => Design::nebula(),
        }
    }

    /// The factor by which its runs are longer than other designs'.
    const fn length(self) -> u64 {
        match self {
            Self::Srq => 3,
            _ => 1,
        }
    }

    pub(super) const fn limit(self) -> Limit {
        match self {
            Self::Rss | Self::RpcValet => Limit::Saturation,
            Self::Srq => Limit::Slo,
            Self::Nebula => Limit::NearOptimal,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    /// It keeps up with the offered load.
    Saturation,
    /// Its p99 keeps the SLO.
    Slo,
    /// Its p99 stays near the p99 at the lowest load.
    NearOptimal,
}

pub(super) struct At {
    pub(super) name: Name,
    pub(super) load: f64,
    pub(super) p99_ns: Vec<f64>,
    pub(super) gb_per_s: Vec<f64>,
    is_saturated: Vec<bool>,
}

impl At {
    fn of(name: Name, load: f64, tallies: &[MemoryTally]) -> Self {
        let p99_ns = tallies.iter().map(|tally| tally.latency_ns(0.99)).collect();
        let gb_per_s = tallies.iter().map(|tally| tally.dram_gb_per_s).collect();
        Self { name, load, p99_ns, gb_per_s, is_saturated: tallies.iter().map(|tally| tally.is_saturated).collect() }
    }

    pub(super) fn p99(&self) -> Interval {
        Interval::of(&self.p99_ns).not_negative()
    }

    pub(super) fn bandwidth(&self) -> Interval {
        Interval::of(&self.gb_per_s).not_negative()
    }
}

pub(super) struct Highest {
    pub(super) load: Interval,
    pub(super) bandwidth: Interval,
}

pub(super) struct Sweep {
    pub(super) model: Model,
    points: Vec<At>,
    highest: Vec<(Name, Highest)>,
}

impl Sweep {
    pub(super) fn run(lab: &Lab<'_>, setup: &Fig2, model: Model) -> Result<Self, ReproduceError> {
        let cases: Vec<(Name, f64)> = Name::ALL.iter().flat_map(|&name| loads(setup, name)).collect();
        let replications = replications(lab);
        lab.expect(cases.len() + Name::ALL.len(), replications);
        let bench = Bench { lab, setup, machine: &model.machine };
        let found: Vec<At> = try_each(&cases, |&(name, load)| bench.at(name, load))?;
        let highest = |&name: &Name| {
            let points: Vec<&At> = found.iter().filter(|at| at.name == name).collect();
            Ok::<_, ReproduceError>((name, bench.highest(name, &points)?))
        };
        let highest = try_each(&Name::ALL, highest)?;
        Ok(Self { model, points: found, highest })
    }

    /// The points of a design, by ascending load.
    pub(super) fn curve(&self, name: Name) -> impl Iterator<Item = &At> {
        self.points.iter().filter(move |at| at.name == name)
    }

    pub(super) fn at(&self, name: Name, load: f64) -> &At {
        let found = self.curve(name).find(|at| at.load == load);
        found.expect("the loads of the rows are among the figure's")
    }

    pub(super) fn highest(&self, name: Name) -> &Highest {
        let found = self.highest.iter().find(|(of, _)| *of == name);
        found.map(|(_, highest)| highest).expect("all designs are searched")
    }
}

/// The loads of a design's curve. A design that saturates early has one load beyond saturation.
fn loads(setup: &Fig2, name: Name) -> Vec<(Name, f64)> {
    let beyond = setup.loads.iter().position(|&load| load > setup.ratio_load.max(setup.sub_us_load));
    let last = match (name.limit(), beyond) {
        (Limit::Saturation, Some(index)) => (index + 2).min(setup.loads.len()),
        _ => setup.loads.len(),
    };
    setup.loads[..last].iter().map(|&load| (name, load)).collect()
}

fn replications(lab: &Lab<'_>) -> u32 {
    lab.effort.of([3, 5, 10])
}

struct Bench<'a> {
    lab: &'a Lab<'a>,
    setup: &'a Fig2,
    machine: &'a MemoryModel,
}

impl Bench<'_> {
    fn one(&self, name: Name, load: f64, replication: u32) -> Result<MemoryTally, ReproduceError> {
        let seed = self.lab.seed.replica(replication.into());
        let rpcs = self.lab.effort.of([20_000, 50_000, 150_000]) * name.length();
        Ok(memory::run(self.machine, &name.design(), &MemoryRun { seed, ..MemoryRun::of(load, rpcs) })?)
    }

    fn at(&self, name: Name, load: f64) -> Result<At, ReproduceError> {
        let one = |&replication: &u32| {
            let tally = self.one(name, load, replication);
            self.lab.progress.step();
            tally
        };
        let tallies: Vec<MemoryTally> = try_each(&indices(0..replications(self.lab)), one)?;
        Ok(At::of(name, load, &tallies))
    }

    /// The highest load within the limit. Each replication bisects between two points of its curve,
    /// as [`load_at_slo`](crate::load_at_slo) does.
    fn highest(&self, name: Name, points: &[&At]) -> Result<Highest, ReproduceError> {
        let one = |&replication: &u32| {
            let found = self.bisect(name, points, replication);
            self.lab.progress.step();
            found
        };
        let found: Vec<(f64, f64)> = try_each(&indices(0..replications(self.lab)), one)?;
        let (loads, bandwidths): (Vec<f64>, Vec<f64>) = found.into_iter().unzip();
        Ok(Highest { load: Interval::of(&loads), bandwidth: Interval::of(&bandwidths) })
    }

    fn bisect(&self, name: Name, points: &[&At], replication: u32) -> Result<(f64, f64), ReproduceError> {
        let own = replication as usize;
        let p99_ns_max = match name.limit() {
            Limit::Saturation => f64::INFINITY,
            Limit::Slo => self.setup.slo_ns,
            Limit::NearOptimal => self.setup.near_optimal * points[0].p99_ns[own],
        };
        let is_within = |p99_ns: f64, is_saturated: bool| match name.limit() {
            Limit::Saturation => !is_saturated,
            Limit::Slo | Limit::NearOptimal => p99_ns <= p99_ns_max,
        };
        let first_beyond = points.iter().position(|at| !is_within(at.p99_ns[own], at.is_saturated[own]));
        let last_within = points[first_beyond.unwrap_or(points.len()).max(1) - 1];
        let (mut within, mut bandwidth) = (last_within.load, last_within.gb_per_s[own]);
        let mut beyond = first_beyond.map_or(1.0, |index| points[index].load);
        while beyond - within > WIDTH {
            let middle = (within + beyond) / 2.0;
            let tally = self.one(name, middle, replication)?;
            if is_within(tally.latency_ns(0.99), tally.is_saturated) {
                (within, bandwidth) = (middle, tally.dram_gb_per_s);
            } else {
                beyond = middle;
            }
        }
        Ok((within, bandwidth))
    }
}

/// The width of the bracket at which a search ends.
const WIDTH: f64 = 0.002;
