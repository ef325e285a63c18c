//! What does one queue cost in software? An MCS lock round it, against the NIC that dispatches.
//!
//! What the lock takes to be handed from core to core is not published, so it is an assumption, and swept: the published loss is not reproduced
//! by choosing it, but the sweep says which hand-off the loss stands for.

use super::paper::{self, Law, SoftwareQueue};
use super::row::{Row, Verdict};
use super::{Lab, ReproduceError, Reproduction, wording};
use crate::interval::Interval;
use crate::load::Load;
use crate::search::Bracket;
use crate::system::{Costs, System};
use nebula_nic::{Policy, Span};
use rayon::prelude::*;

pub(super) fn reproduce(lab: &Lab<'_>) -> Result<Reproduction, ReproduceError> {
    let setup = &paper::rpcvalet().setup.software_queue;
    let laws = setup.laws.iter().map(|law| (law, queues(setup)));
    let cases: Vec<(&Law, Queue)> =
        laws.flat_map(|(law, queues)| queues.into_iter().map(move |queue| (law, queue))).collect();
    lab.expect(cases.len(), replications(lab));
    let loads: Vec<Vec<f64>> =
        cases.par_iter().map(|&(law, queue)| loads(lab, setup, law, queue)).collect::<Result<_, _>>()?;
    let found: Vec<Found<'_>> =
        cases.into_iter().zip(loads).map(|((law, queue), loads)| Found { law, queue, loads }).collect();
    let mut rows = judged(setup, &found);
    rows.extend(found.iter().map(|one| note(&found, one)));
    Ok(rows.into())
}

/// Who holds the one queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Queue {
    /// The NIC; a core is given at most so many RPCs.
    Nic(Policy),
    /// Memory, behind a lock that takes so many nanoseconds to hand on.
    Lock(u64),
}

fn queues(setup: &SoftwareQueue) -> Vec<Queue> {
    let nic = [Policy::SingleQueue, Policy::Jbsq(2)].map(Queue::Nic);
    nic.into_iter().chain(setup.handoffs_ns.iter().copied().map(Queue::Lock)).collect()
}

/// The highest loads at the SLO, one a replication.
struct Found<'a> {
    law: &'a Law,
    queue: Queue,
    loads: Vec<f64>,
}

fn loads(lab: &Lab<'_>, setup: &SoftwareQueue, law: &Law, queue: Queue) -> Result<Vec<f64>, ReproduceError> {
    let system = match queue {
        Queue::Nic(policy) => System::new(policy, setup.cores),
        Queue::Lock(ns) => {
            let costs = Costs { lock_handoff: Span::from_ns(ns), ..Costs::default() };
            System::new(Policy::McsLock, setup.cores).costs(costs)
        }
    };
    let load = Load::open(law.service.clone(), BRACKET.lowest);
    let runs = lab.runs(lab.effort.of([40_000, 200_000, 500_000]), replications(lab));
    Ok(lab.load_at_slo(&system, &load, load.slo(setup.slo_services), BRACKET, &runs)?.loads)
}

fn replications(lab: &Lab<'_>) -> u32 {
    lab.effort.of([4, 6, 10])
}

const BRACKET: Bracket = Bracket { lowest: 0.05, highest: 0.999, width: 0.001 };

/// Throughput of the NIC's queue over that of `queue`, under the same service times.
fn loss(found: &[Found<'_>], law: &Law, queue: Queue) -> Interval {
    let loads = |queue| {
        let found = found.iter().find(|found| found.law.id == law.id && found.queue == queue);
        &found.expect("all queues run under all laws").loads
    };
    let pairs = loads(Queue::Nic(Policy::SingleQueue)).iter().zip(loads(queue));
    Interval::of(&pairs.map(|(nic, other)| nic / other).collect::<Vec<_>>())
}

fn judged(setup: &SoftwareQueue, found: &[Found<'_>]) -> Vec<Row> {
    let losses = |ns| setup.laws.iter().map(move |law| loss(found, law, Queue::Lock(ns)));
    let least = |ns| losses(ns).reduce(|best, next| if next.value < best.value { next } else { best });
    let most = |ns| losses(ns).reduce(|best, next| if next.value > best.value { next } else { best });
    let row = |name: &str, of: &dyn Fn(u64) -> Option<Interval>| {
        let figure = paper::rpcvalet().figure(&format!("rpcvalet/software-queue/{name}"));
        let at = |ns| of(ns).expect("there are laws");
        let sweep = setup.handoffs_ns.iter().map(|&ns| format!("{ns} ns {}", wording::number(at(ns).value)));
        let why = format!(
            "what the lock costs is not published: a hand-off of {}; {} ns is assumed here",
            sweep.collect::<Vec<_>>().join(", "),
            setup.handoff_ns
        );
        Row::judged(figure, at(setup.handoff_ns), (Verdict::NotReproducibleAsPublished, why))
    };
    vec![row("loss_least", &least), row("loss_most", &most)]
}

fn note(found: &[Found<'_>], one: &Found<'_>) -> Row {
    let (law, loss) = (one.law, loss(found, one.law, one.queue));
    let (id, said) = match one.queue {
        Queue::Nic(policy) => {
            let load = wording::load(Interval::of(&one.loads));
            (policy.to_string(), format!("single-queue over {policy}, which keeps the SLO up to load {load}"))
        }
        Queue::Lock(ns) => {
            (format!("mcs-lock/{ns}ns"), format!("single-queue over mcs-lock with a hand-off of {ns} ns, assumed"))
        }
    };
    Row::note(format!("rpcvalet/software-queue/{}/{id}", law.id), format!("{said}, {}", law.service), "×", loss)
}
