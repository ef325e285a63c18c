//! The capacity of a running server: what it keeps at its load, and how many cores the load needs.
//!
//! Service times, rate and bound are the server's. Arrivals are assumed Poisson, since a server
//! counts them and does not time them.

use nebula_nic::Span;
use nebula_sim::study::text::{digits, ends, load as load_text, time};
use nebula_sim::study::units;
use nebula_sim::{Interval, Load, Met, System, estimate};
use nebula_workload::{Rate, ServiceTime};

use super::planner::{At, SEARCHED, Task};
use super::question::Question;
use crate::words::Slo;
use crate::{Answer, Failure, Progress, Workers};

/// The measurements of a server.
#[derive(Clone, Debug)]
pub struct Running {
    /// Its endpoint, for sentences.
    pub name: String,
    /// Its service times.
    pub service: ServiceTime,
    /// RPCs offered to it per second.
    pub rate: Rate,
    /// The number of cores that serve.
    pub cores: u32,
    /// RPCs waiting at which it refuses the next; `None` without a bound.
    pub queue_bound: Option<u32>,
    /// Its latency target.
    pub slo: Span,
    /// The measured p99 of its latencies, if any.
    pub latency_p99: Option<Span>,
    /// The share of RPCs that it refused.
    pub nack_share: f64,
}

/// The server as it is, then the planner's answer.
pub(super) fn answer(
    args: &Question,
    running: &Running,
    workers: &Workers,
    progress: &dyn Progress,
) -> Result<Answer, Failure> {
    let effort = args.effort.effort();
    effort.validate()?;
    let service = args.service.clone().unwrap_or_else(|| running.service.clone());
    let slo = args.slo.map_or(running.slo, |slo: Slo| slo.of(&Load::open(service.clone(), 0.5)));
    let task = Task { args, service, slo, effort, replicated: &|| progress.step() };
    progress.expect((SEARCHED + 1) * u64::from(effort.replications));
    let rate = args.rate.unwrap_or(running.rate);
    workers.install(|| {
        let (row, said) = as_it_is(&task, running, rate)?;
        let mut answer = match task.answer(rate) {
            Ok(answer) => answer,
            // The row of the server holds, whether or not any number of cores keeps the SLO.
            Err(Failure::BadInput(why)) => Answer { notes: vec![format!("note: {why}")], ..Answer::default() },
            Err(failure) => return Err(failure),
        };
        answer.rows.insert(0, row);
        answer.said.splice(0..0, said);
        Ok(answer)
    })
}

fn as_it_is(task: &Task<'_>, running: &Running, rate: Rate) -> Result<(nebula_sim::study::Row, Vec<String>), Failure> {
    let Running { name, cores, queue_bound, .. } = running;
    let load = task.load_of(*cores, rate, 1);
    if queue_bound.is_none() && load >= 0.999 {
        return Err(Failure::bad_input(format!(
            "{name} has a load of {} and no bound on its queue, which grows without limit: serve without --unbounded",
            load_text(digits(load))
        )));
    }
    // The policy also gives a core RPCs that wait there, which the bound does not count.
    let system = System { queue_bound: *queue_bound, ..task.system(*cores)? };
    let offered = Load::open(task.service.clone(), load).arrivals(task.args.arrivals.clone());
    let found = estimate(&system, &offered, &task.effort, task.replicated)?;
    let accepted = found.accepted();
    let nacked = Interval { value: 1.0 - accepted.value, lo: 1.0 - accepted.hi, hi: 1.0 - accepted.lo };
    let (p99, met) = (found.p99().scaled(1e-3), found.met(task.slo));
    let at = At { cores: *cores, rate, servers: 1, load: load.min(0.999), found };
    let row = task.row("running", &at, Interval::exact(rate.as_rps()))?;
    let row = row
        .field("nack_share", digits(nacked.value))
        .field("nack_share_ci", ends(nacked))
        .field("measured_latency_ns_p99", running.latency_p99.map(Span::as_ns_f64))
        .field("measured_nack_share", digits(running.nack_share));
    let seen = running.latency_p99.map_or("–".to_owned(), units::span);
    let keeps = match met {
        Met::Yes => "keeps",
        Met::No => "misses",
        Met::Undecided => "may keep",
    };
    let as_measured = format!(
        "{name} has {} RPC/s on {cores} cores, at a load of {}; a service takes {} on average; its p99 is {seen}, and {} of the RPCs are NACKed.",
        units::rate(rate.as_rps()),
        load_text(digits(load)),
        time(task.service.mean_ps() / 1e3),
        units::percent(running.nack_share),
    );
    let as_expected = format!(
        "From the queue alone a p99 of {} is to be expected, which {keeps} the SLO of {}, and {} NACKs.",
        time(p99.value),
        units::span(task.slo),
        units::percent(nacked.value),
    );
    Ok((row, vec![as_measured, as_expected]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nebula_sim::study::Value;

    fn ask(words: &str, rate_rps: f64, queue_bound: Option<u32>) -> Result<Answer, Failure> {
        let running = Running {
            name: "shm://kv".to_owned(),
            service: "exp:1us".parse().expect("a law"),
            rate: Rate::try_new(rate_rps).expect("a rate"),
            cores: 2,
            queue_bound,
            slo: Span::from_us(10),
            latency_p99: Some(Span::from_us(7)),
            nack_share: 0.0,
        };
        Question::parse(words.split_whitespace())?.ask_of(&running, &())
    }

    fn figure(answer: &Answer, row: usize, name: &str) -> f64 {
        match answer.rows[row].fields().iter().find(|(field, _)| field == name) {
            Some((_, Value::Number(number))) => *number,
            Some((_, Value::Count(count))) => *count as f64,
            other => panic!("{name}: {other:?}"),
        }
    }

    #[test]
    fn a_server_that_runs_is_judged_at_its_own_load_and_then_planned() {
        let answer = ask("--rpcs 40k --replications 4", 1.2e6, Some(14)).expect("an answer");
        assert!((figure(&answer, 0, "load") - 0.6).abs() < 1e-6);
        // M/M/2 at 0.6: a p99 of some 6 us.
        let p99 = figure(&answer, 0, "latency_ns_p99");
        assert!((4_500.0..8_000.0).contains(&p99), "{p99}");
        assert!(figure(&answer, 0, "nack_share") < 0.01);
        assert_eq!(figure(&answer, 1, "cores"), 2.0);
        assert!(answer.said[0].contains("shm://kv has 1.2M RPC/s on 2 cores, at a load of 0.6"), "{:?}", answer.said);
    }

    #[test]
    fn an_overload_is_refused_down_to_what_is_served_and_needs_more_cores() {
        let answer = ask("--rpcs 40k --replications 4", 4e6, Some(14)).expect("an answer");
        let nacked = figure(&answer, 0, "nack_share");
        assert!((0.45..0.55).contains(&nacked), "{nacked}");
        assert!(figure(&answer, 1, "cores") >= 5.0);
        assert!(ask("", 4e6, None).is_err_and(|failure| failure.to_string().contains("--unbounded")));
    }
}
