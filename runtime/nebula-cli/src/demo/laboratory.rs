//! The demo's last step: simulates the measured service on more cores, under each policy.
//!
//! The simulation draws from the measured handler times. A simulated core never pauses, so the SLO is the papers' ten mean service times;
//! the demo's own SLO allows for pauses. As in the runtime, the receive buffer has room for the longest queue that meets the SLO, and for
//! the RPCs that the cores hold.

use nebula_lab::studies::{self, lock_handoff};
use nebula_nic::{Policy, SLOT_BYTES, Span, queue_bound_for_slo};
use nebula_sim::study::{Ask, Figures, Found, Point, Threads};
use nebula_sim::{Costs, Effort, Load, System};
use nebula_workload::ServiceTime;

use nebula_sim::study::text::{digits, ends, time};
use nebula_ui::output::{Failure, Row, units};

const CORES: [u16; 2] = [16, 64];
const POLICIES: [Policy; 4] = [Policy::Rss, Policy::McsLock, Policy::SingleQueue, Policy::Jbsq(2)];
/// The SLO in mean service times.
const SLO: f64 = 10.0;
/// The common load at which tails are compared.
const COMMON: f64 = 0.7;

/// What the demo measured: the input of the simulation.
pub(super) struct Measured {
    service: ServiceTime,
    mean: Span,
    slo: Span,
    /// Handler times in the sample, and how many of them are pauses of the machine.
    taken: usize,
    paused: usize,
}

/// A time longer than this multiple of the p99 is a pause of the machine: the handler times of the demo vary little.
const PAUSE: u64 = 10;

impl Measured {
    /// The distribution of the handler times without pauses of the machine.
    ///
    /// # Errors
    ///
    /// A fault if no RPC was timed.
    pub(super) fn of(mut times: Vec<Span>) -> Result<Self, Failure> {
        times.sort_unstable();
        let taken = times.len();
        let p99 = times.get(taken * 99 / 100).copied().unwrap_or(Span::ZERO);
        times.truncate(times.partition_point(|&time| time <= p99 * PAUSE));
        let paused = taken - times.len();
        let service = ServiceTime::from_spans("demo", times).map_err(Failure::fault)?;
        let load = Load::open(service.clone(), COMMON);
        let (mean, slo) = (load.slo(1.0), load.slo(SLO));
        Ok(Self { service, mean, slo, taken, paused })
    }

    /// The input of the simulation, in one sentence.
    pub(super) fn describe(&self) -> String {
        let scv = self.service.scv().unwrap_or(f64::INFINITY);
        let paused = match self.paused {
            0 => String::new(),
            paused => format!("; {paused} that met a pause of the machine are excluded"),
        };
        format!(
            "{} handler times of mean {} and squared CV {scv:.3}{paused}. These figures are simulated: cores never pause, the NIC has no cost, the \
             SLO is {SLO} mean service times, {}, and an RPC that cannot meet it is NACKed",
            self.taken,
            units::span(self.mean),
            units::span(self.slo),
        )
    }
}

/// A simulated server: the highest load that meets the SLO, and the tail at the common load.
pub(super) struct SimulatedServer {
    at_slo: Found,
    common: Found,
    buffer_bytes: u64,
}

/// Simulates every policy on every number of cores.
///
/// # Errors
///
/// A fault of the simulation.
pub(super) fn simulate(measured: &Measured, rpc_bytes: u32, quick: bool) -> Result<Vec<SimulatedServer>, Failure> {
    let effort = Effort::default().rpcs(if quick { 20_000 } else { 100_000 }).replications(4);
    let mut points = Vec::new();
    for cores in CORES {
        let bound = queue_bound_for_slo(measured.slo, measured.mean, cores.into()).map_err(Failure::fault)?;
        for policy in POLICIES {
            points.extend(points_of(measured, System::new(policy, cores).queue_bound(bound), effort));
        }
    }
    let found =
        studies::measure(&Threads::try_new(None).map_err(nebula_lab::Failure::from)?, &points, effort.seed, &())?;
    match found.failure {
        Some(failure) => Err(failure.into()),
        None => Ok(found.found.chunks_exact(2).map(|pair| SimulatedServer::of(pair, rpc_bytes)).collect()),
    }
}

/// Searches for the highest load, and simulates the common load.
fn points_of(measured: &Measured, system: System, effort: Effort) -> [Point; 2] {
    let costs = Costs { lock_handoff: lock_handoff(system.policy, None), ..Costs::default() };
    let system = system.costs(costs);
    let load = Load::open(measured.service.clone(), COMMON);
    let point = |ask| Point {
        name: system.policy.to_string(),
        system: system.clone(),
        load: load.clone(),
        slo: measured.slo,
        ask,
        effort,
    };
    [point(Ask::FindLoad), point(Ask::Measure)]
}

impl SimulatedServer {
    fn of(pair: &[Found], rpc_bytes: u32) -> Self {
        let system = &pair[0].point.system;
        let rpcs = u64::from(system.queue_bound.unwrap_or(0)) + u64::from(system.held_at_cores());
        let buffer_bytes = rpcs * u64::from(rpc_bytes.next_multiple_of(SLOT_BYTES));
        Self { at_slo: pair[0].clone(), common: pair[1].clone(), buffer_bytes }
    }

    /// The row of tables, JSON and CSV.
    pub(super) fn row(&self) -> Row {
        let (system, at_slo, common) = (&self.at_slo.point.system, self.at_slo.at_slo, self.common.figures);
        let p99 = |show: fn(&Figures) -> String| {
            common.as_ref().filter(|f| f.outcome.accepted.value >= 0.99).map_or("∞".to_owned(), show)
        };
        let p99_ns = common.filter(|f| f.outcome.accepted.value >= 0.99).map(|f| digits(f.outcome.p99.value));
        Row::new()
            .field("simulated", true)
            .field("cores", u32::from(system.cores))
            .field("policy", system.policy.to_string())
            .field("slo_ns", self.at_slo.point.slo.as_ns())
            .field("load_at_slo", at_slo.map(|at| digits(at.load.value)))
            .field("load_at_slo_ci", at_slo.map(|at| ends(at.load)))
            .field("throughput_under_slo_rps", at_slo.map(|at| digits(at.served_rps.value)))
            .field("load", COMMON)
            .field("latency_ns_p99", p99_ns)
            .field("accepted", common.map(|f| digits(f.outcome.accepted.value)))
            .field("queue_bound", system.queue_bound)
            .field("buffer_bytes", self.buffer_bytes)
            .word("policy", system.policy.to_string())
            .shown("cores", system.cores.to_string())
            .shown("load\nat SLO", at_slo.map_or("none".to_owned(), |at| at.load_in_words()))
            .shown("RPC/s\nat SLO", at_slo.map_or("–".to_owned(), |at| units::rate(at.served_rps.value)))
            .shown("p99 at\nload 0.7", p99(|f| time(f.outcome.p99.value)))
            .shown("NACKed\nat 0.7", common.map_or("–".to_owned(), |f| units::percent(1.0 - f.outcome.accepted.value)))
            .shown("receive\nbuffer", units::bytes(self.buffer_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured() -> Measured {
        let times = (0..1000).map(|index| Span::from_ns(1000 + index)).chain([Span::from_ms(4), Span::from_ms(2)]);
        Measured::of(times.collect()).unwrap()
    }

    #[test]
    fn a_pause_of_the_machine_is_no_service_time() {
        let measured = measured();
        assert_eq!((measured.taken, measured.paused), (1002, 2));
        assert_eq!(measured.mean, Span::from_ps(1_499_500));
        assert!(Measured::of(Vec::new()).is_err());
    }

    #[test]
    fn more_cores_and_one_queue_serve_more() {
        let servers = simulate(&measured(), 528, true).unwrap();
        assert_eq!(servers.len(), CORES.len() * POLICIES.len());
        let rps = |index: usize| servers[index].at_slo.at_slo.unwrap().served_rps.value;
        let (rss, lock, jbsq) = (rps(0), rps(1), rps(3));
        assert!(jbsq > rss && jbsq > lock, "{rss} {lock} {jbsq}");
        assert!(rps(7) > 3.0 * jbsq, "64 cores against 16");
        assert!(servers.iter().all(|server| server.buffer_bytes >= 16 * 576));
        let shown = nebula_ui::output::csv(&[servers[3].row()]);
        let (names, values) = shown.split_once('\n').unwrap();
        for field in ["load_at_slo", "throughput_under_slo_rps"] {
            let at = names.split(',').position(|name| name == field).unwrap();
            let value = values.split(',').nth(at).unwrap();
            assert!(value.parse().is_ok_and(|value: f64| value > 0.0), "{field}: {shown}");
        }
    }
}
