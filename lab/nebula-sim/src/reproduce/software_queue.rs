//! How much throughput does a software queue lose? An MCS lock against dispatch by the NIC.
//!
//! The lock's hand-off time is not published, so it is assumed and swept; the sweep shows which one
//! would give the published loss. That loss does not count as reproduced.

use super::lab::Lab;
use super::paper::{self, Law, SoftwareQueue};
use super::reproduction::{ReproduceError, Reproduction};
use super::row::{Judgment, Row};
use super::wording;
use crate::executor::try_each;
use crate::interval::Interval;
use crate::load::Load;
use crate::search::Bracket;
use crate::system::{Costs, System};
use nebula_nic::{Policy, Span};

pub(super) fn reproduce(lab: &Lab<'_>) -> Result<Reproduction, ReproduceError> {
    let setup = &paper::rpcvalet().setup.software_queue;
    let laws = setup.laws.iter().map(|law| (law, queues(setup)));
    let cases: Vec<(&Law, Queue)> =
        laws.flat_map(|(law, queues)| queues.into_iter().map(move |queue| (law, queue))).collect();
    lab.expect(cases.len(), replications(lab));
    let loads: Vec<Vec<f64>> = try_each(&cases, |&(law, queue)| loads(lab, setup, law, queue))?;
    let found: Vec<Found<'_>> =
        cases.into_iter().zip(loads).map(|((law, queue), loads)| Found { law, queue, loads }).collect();
    let mut rows = judged(setup, &found);
    rows.extend(found.iter().map(|one| note(&found, one)));
    Ok(rows.into())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Queue {
    /// In the NIC, which dispatches by this policy.
    Nic(Policy),
    /// In memory, behind a lock with this hand-off time in nanoseconds.
    Lock(u64),
}

fn queues(setup: &SoftwareQueue) -> Vec<Queue> {
    let nic = [Policy::SingleQueue, Policy::Jbsq(2)].map(Queue::Nic);
    nic.into_iter().chain(setup.handoffs_ns.iter().copied().map(Queue::Lock)).collect()
}

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
    let runs = lab.runs(lab.effort.of([40_000, 80_000, 150_000]), replications(lab));
    Ok(lab.load_at_slo(&system, &load, load.slo(setup.slo_services), BRACKET, &runs)?.loads)
}

fn replications(lab: &Lab<'_>) -> u32 {
    lab.effort.of([4, 6, 10])
}

const BRACKET: Bracket = Bracket { lowest: 0.05, highest: 1.0 - WIDTH / 2.0, width: WIDTH };
const WIDTH: f64 = 0.002;

/// Throughput of the NIC's queue over that of `queue`.
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
        let sweep: Vec<(u64, f64)> = setup.handoffs_ns.iter().map(|&ns| (ns, at(ns).value)).collect();
        let why = why(setup, &sweep, figure.value);
        Row::judged(figure, at(setup.handoff_ns), (Judgment::NotReproducibleAsPublished, why))
    };
    vec![row("loss_least", &least), row("loss_most", &most)]
}

fn why(setup: &SoftwareQueue, sweep: &[(u64, f64)], published: f64) -> String {
    let list = sweep.iter().map(|&(ns, loss)| format!("{ns} ns gives {}", wording::number(loss)));
    let stands_for = match handoff_ns_of(sweep, published) {
        Some(ns) => format!("the published value would stand for {ns:.0} ns"),
        None => "no hand-off among them gives the published value".to_owned(),
    };
    let list = list.collect::<Vec<_>>().join(", ");
    format!(
        "what a hand-off of the lock takes is not published, {} ns is assumed: {list}; {stands_for}",
        setup.handoff_ns
    )
}

/// The hand-off time whose loss is `published`, interpolated linearly between those that ran.
fn handoff_ns_of(sweep: &[(u64, f64)], published: f64) -> Option<f64> {
    let (below, above) = sweep
        .windows(2)
        .map(|pair| (pair[0], pair[1]))
        .find(|&((_, below), (_, above))| below <= published && published <= above)?;
    let share = (published - below.1) / (above.1 - below.1);
    Some(below.0 as f64 + share * (above.0 - below.0) as f64)
}

fn note(found: &[Found<'_>], one: &Found<'_>) -> Row {
    let of_law = |what: &str| format!("rpcvalet/software-queue/{}/{what}", one.law.id);
    let service = &one.law.service;
    match one.queue {
        Queue::Nic(policy @ Policy::SingleQueue) => {
            let what = format!("highest load at the SLO, {policy}, {service}");
            Row::note(of_law(&format!("{policy}/load_at_slo")), what, "load", Interval::of(&one.loads))
        }
        Queue::Nic(policy) => {
            let what = format!("throughput at the SLO of single-queue over that of {policy}, {service}");
            Row::note(of_law(&policy.to_string()), what, "×", loss(found, one.law, one.queue))
        }
        Queue::Lock(ns) => {
            let what = format!(
                "throughput at the SLO of single-queue over that of mcs-lock, hand-off {ns} ns assumed, {service}"
            );
            Row::note(of_law(&format!("mcs-lock/{ns}ns")), what, "×", loss(found, one.law, one.queue))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::handoff_ns_of;

    #[test]
    fn a_handoff_is_interpolated_between_two_that_ran() {
        let sweep = [(100, 1.375), (200, 2.375), (300, 4.375)];
        assert_eq!(handoff_ns_of(&sweep, 1.875), Some(150.0));
        assert_eq!(handoff_ns_of(&sweep, 2.875), Some(225.0));
        assert_eq!((handoff_ns_of(&sweep, 1.0), handoff_ns_of(&sweep, 5.0)), (None, None));
    }
}
