//! How many cores keep the SLO at a rate, for the times in a log?
//!
//! A search doubles the cores until they keep the SLO, then bisects; undecided means too few.

use nebula_nic::{Sizing, Span, queue_bound_for_slo};
use nebula_sim::sizing::{queue_at_slo, room};
use nebula_sim::study::text::{digits, ends, load as load_text, time, with_half};
use nebula_sim::study::{Row, Value, units};
use nebula_sim::{Effort, Estimate, Interval, Load, Met, SimError, System, estimate};
use nebula_workload::{Rate, ServiceLog, ServiceTime};

use super::question::{Question, with_sizing};
use crate::words::Slo;
use crate::{Answer, Failure, Progress, Workers};

const CORES_MAX: u32 = 4096;

/// At this load a queue does not settle in a planner's time.
const LOAD_MAX: f64 = 0.999;

pub(super) struct Task<'a> {
    pub(super) args: &'a Question,
    pub(super) service: ServiceTime,
    pub(super) slo: Span,
    pub(super) effort: Effort,
    pub(super) replicated: &'a (dyn Fn() + Sync),
}

pub(super) struct At {
    pub(super) cores: u32,
    pub(super) rate: Rate,
    pub(super) servers: u16,
    pub(super) load: f64,
    pub(super) found: Estimate,
}

pub(super) fn answer(
    args: &Question,
    rate: Rate,
    workers: &Workers,
    progress: &dyn Progress,
) -> Result<Answer, Failure> {
    let (service, read) = service(args)?;
    let effort = args.effort.effort();
    effort.validate()?;
    let slo = args.slo.unwrap_or(Slo::Times(10.0)).of(&Load::open(service.clone(), 0.5));
    let task = Task { args, service, slo, effort, replicated: &|| progress.step() };
    progress.expect(SEARCHED * u64::from(effort.replications));
    let mut answer = workers.install(|| task.answer(rate))?;
    answer.said.splice(0..0, read);
    Ok(answer)
}

/// Points that a search usually simulates.
pub(super) const SEARCHED: u64 = 12;

/// The service times, and a sentence about the log.
fn service(args: &Question) -> Result<(ServiceTime, Vec<String>), Failure> {
    let Some(path) = &args.trace else {
        let missing = || Failure::bad_input("--rate needs service times: give a --trace, or a law with --service");
        return Ok((args.service.clone().ok_or_else(missing)?, Vec::new()));
    };
    let name = path.display().to_string();
    let file = nebula_files::lines(path)
        .map_err(|error| Failure::bad_input(format!("--trace: cannot open {name}: {error}")))?;
    let log = ServiceLog::read(&name, args.column.as_ref(), file)?;
    let column = if log.column().is_empty() { String::new() } else { format!(" of the column {}", log.column()) };
    let service = log.service()?;
    let endpoints = match log.endpoints().len() {
        1 => String::new(),
        several => format!(", of {several} endpoints"),
    };
    let read = format!(
        "{name} has {} times{column} in {}{endpoints}: {} on average.",
        log.count(),
        log.unit(),
        time(service.mean_ps() / 1e3)
    );
    Ok((service, vec![read]))
}

impl Task<'_> {
    pub(super) fn answer(&self, rate: Rate) -> Result<Answer, Failure> {
        let servers = self.args.servers;
        let usual = self.fewest(rate, 1)?;
        let peak = self.args.peak.map(|peak| self.fewest(peak, usual.cores)).transpose()?;
        let cores = peak.as_ref().map_or(usual.cores, |peak| peak.cores);
        let usual = if cores == usual.cores { usual } else { self.at(cores, rate, servers)? };
        let highest = self.highest(cores)?;
        let down = (servers > 1).then(|| self.at(cores, rate, servers - 1)).transpose()?;
        let mut said = vec![self.sentence(&usual, peak.as_ref(), highest)];
        said.extend(down.as_ref().map(|down| self.when_one_is_down(down)));
        let mut rows = vec![self.row("usual", &usual, highest)?];
        rows.extend(self.endpoint_rows(&usual));
        for (name, at) in [("peak", &peak), ("one server down", &down)] {
            if let Some(at) = at {
                rows.push(self.row(name, at, highest)?);
            }
        }
        Ok(Answer { rows, said, notes: self.doubts(&usual), failure: None })
    }

    fn doubts(&self, at: &At) -> Vec<String> {
        let unsettled = !at.found.is_settled;
        let note = "note: the load is unsettled: so few RPCs say little about a load that takes this long to settle; give more --rpcs";
        unsettled.then(|| note.to_owned()).into_iter().collect()
    }

    pub(super) fn system(&self, cores: u32) -> Result<System, Failure> {
        super::service::system(self.args.policy.unwrap_or_default(), cores)
    }

    pub(super) fn load_of(&self, cores: u32, rate: Rate, servers: u16) -> f64 {
        rate.as_rps() * self.service.mean_ps() / 1e12 / f64::from(servers) / f64::from(cores)
    }

    /// These cores, whether or not they keep the SLO.
    fn at(&self, cores: u32, rate: Rate, servers: u16) -> Result<At, Failure> {
        let load = self.load_of(cores, rate, servers);
        let offered = Load::open(self.service.clone(), load.min(LOAD_MAX)).arrivals(self.args.arrivals.clone());
        let system = self.system(cores)?;
        let found = estimate(&system, &offered, &self.effort, self.replicated)?;
        Ok(At { cores, rate, servers, load, found })
    }

    /// These cores, if they keep the SLO.
    fn kept(&self, cores: u32, rate: Rate) -> Result<Option<At>, Failure> {
        let saturation = self.system(cores)?.saturation(&self.service).min(LOAD_MAX);
        if self.load_of(cores, rate, self.args.servers) >= saturation {
            return Ok(None);
        }
        match self.at(cores, rate, self.args.servers) {
            Ok(at) => Ok(Some(at).filter(|at| at.found.met(self.slo) == Met::Yes)),
            // The queue outgrew its memory.
            Err(Failure::Fault(_)) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// The fewest cores, at least `least`, that keep the SLO.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative, and at most CORES_MAX")]
    fn fewest(&self, rate: Rate, least: u32) -> Result<At, Failure> {
        let (mut low, mut step) = (least.max(1) - 1, 1);
        // Fewer cores could not do the work.
        low = low.max(self.load_of(1, rate, self.args.servers).floor().min(f64::from(CORES_MAX)) as u32);
        let mut best = loop {
            let cores = (low + step).min(CORES_MAX);
            if let Some(at) = self.kept(cores, rate)? {
                break at;
            }
            if cores == CORES_MAX || self.is_hopeless(cores, rate) {
                return Err(self.no_number(cores, rate));
            }
            (low, step) = (cores, step * 2);
        };
        while best.cores - low > 1 {
            let middle = u32::midpoint(low, best.cores);
            match self.kept(middle, rate)? {
                Some(at) => best = at,
                None => low = middle,
            }
        }
        Ok(best)
    }

    /// At this load hardly any RPC waits: more cores change nothing.
    fn is_hopeless(&self, cores: u32, rate: Rate) -> bool {
        const IDLE: f64 = 0.02;
        cores > 8 && self.load_of(cores, rate, self.args.servers) < IDLE
    }

    fn no_number(&self, cores: u32, rate: Rate) -> Failure {
        let load = self.load_of(cores, rate, self.args.servers);
        Failure::bad_input(format!(
            "no number of cores keeps a p99 of {}: {cores} do not, at a load of {}; the service alone takes too long: give a longer --slo",
            units::span(self.slo),
            load_text(digits(load))
        ))
    }

    fn highest(&self, cores: u32) -> Result<Interval, Failure> {
        let load = Load::open(self.service.clone(), 0.5).arrivals(self.args.arrivals.clone());
        let system = self.system(cores)?;
        let found = queue_at_slo(&system, &load, self.slo, &self.effort, self.replicated);
        let capacity = f64::from(self.args.servers) * f64::from(cores) * 1e12 / self.service.mean_ps();
        match found {
            Ok(queue) => Ok(queue.load.scaled(capacity)),
            Err(SimError::Slo { .. } | SimError::Unsettled { .. }) => Ok(Interval::exact(0.0)),
            Err(error) => Err(error.into()),
        }
    }

    // -- words --

    fn sentence(&self, usual: &At, peak: Option<&At>, highest: Interval) -> String {
        let Self { args, slo, .. } = self;
        let each = if args.servers > 1 {
            format!("{} servers of {} cores", args.servers, usual.cores)
        } else {
            format!("{} cores", usual.cores)
        };
        let peak = peak.map_or(String::new(), |peak| {
            format!(", and {} RPC/s at a load of {}", units::rate(peak.rate.as_rps()), load_text(digits(peak.load)))
        });
        format!(
            "{each} keep a p99 of {} at {} RPC/s, at a load of {}{peak}; up to {} RPC/s they would, {:.2} times the rate.",
            units::span(*slo),
            units::rate(usual.rate.as_rps()),
            load_text(digits(usual.load)),
            units::rate(highest.value),
            highest.value / usual.rate.as_rps(),
        )
    }

    fn when_one_is_down(&self, down: &At) -> String {
        let left = format!("With one server down, the others have a load of {}", load_text(digits(down.load)));
        match (down.load >= LOAD_MAX, down.found.met(self.slo)) {
            (true, _) => format!("{left}: more than they can serve, and the excess is NACKed."),
            (_, Met::Yes) => format!("{left} and keep the SLO."),
            (_, Met::No) => format!("{left} and miss the SLO: their p99 is {}.", time(down.found.p99().value / 1e3)),
            (_, Met::Undecided) => format!("{left}; whether they keep the SLO is undecided."),
        }
    }

    pub(super) fn row(&self, scenario: &str, at: &At, highest: Interval) -> Result<Row, Failure> {
        let system = self.system(at.cores)?;
        let load = Load::open(self.service.clone(), at.load.min(LOAD_MAX));
        let bound = queue_bound_for_slo(self.slo, load.slo(1.0), at.cores).map_err(Failure::bad_input)?;
        let sizing: Sizing = room(&system, mean(&at.found.depth_mean), self.args.rpc_bytes);
        let overloaded = at.load >= LOAD_MAX;
        let (p99, p50) = (at.found.p99().scaled(1e-3), at.found.quantile(0.5).scaled(1e-3));
        let met = if overloaded { "no" } else { at.found.met(self.slo).name() };
        let latency = |figure: f64| if overloaded { Value::Null } else { digits(figure).into() };
        let row = Row::new()
            .field("scenario", scenario)
            .field("endpoint", "all")
            .field("rate_rps", at.rate.as_rps())
            .field("servers", u32::from(at.servers))
            .field("cores", at.cores)
            .field("policy", system.policy.to_string())
            .field("load", digits(at.load))
            .field("service", self.service_name())
            .field("service_ns_mean", digits(self.service.mean_ps() / 1e3))
            .field("slo_ns", self.slo.as_ns_f64())
            .field("meets_slo", met)
            .field("latency_ns_p50", latency(p50.value))
            .field("latency_ns_p99", latency(p99.value))
            .field("latency_ns_p99_ci", if overloaded { Value::Null } else { ends(p99) })
            .field("rate_at_slo_rps", digits(highest.value))
            .field("rate_at_slo_rps_ci", ends(highest))
            .field("queue_bound", bound);
        let shown = |text: String| if overloaded { "∞".to_owned() } else { text };
        Ok(with_sizing(row, &sizing)
            .word("scenario", scenario)
            .word("endpoint", "all")
            .shown("rate", units::rate(at.rate.as_rps()))
            .shown("servers", at.servers.to_string())
            .shown("cores", at.cores.to_string())
            .shown("load", load_text(digits(at.load)))
            .shown("p50", shown(time(p50.value)))
            .shown("p99", shown(with_half(p99, time)))
            .shown("SLO", units::span(self.slo))
            .word("met", met)
            .shown("queue bound", bound.to_string())
            .shown("buffer", units::bytes(sizing.buffer_bytes)))
    }

    fn endpoint_rows(&self, at: &At) -> Vec<Row> {
        let types = self.service.types();
        if types.len() < 2 {
            return Vec::new();
        }
        let row = |((name, share), of): (&(String, f64), &nebula_sim::OfType)| {
            let [p50, p99] = [0.5, 0.99].map(|share| of.latency.quantile(share) / 1e3);
            let rate = share * at.rate.as_rps();
            Row::new()
                .field("scenario", "usual")
                .field("endpoint", name.as_str())
                .field("rate_rps", digits(rate))
                .field("latency_ns_p50", digits(p50))
                .field("latency_ns_p99", digits(p99))
                .word("scenario", "usual")
                .word("endpoint", name.as_str())
                .shown("rate", units::rate(rate))
                .shown("servers", "")
                .shown("cores", "")
                .shown("load", "")
                .shown("p50", time(p50))
                .shown("p99", time(p99))
        };
        types.iter().zip(&at.found.tally.by_type).map(row).collect()
    }

    fn service_name(&self) -> String {
        match &self.args.trace {
            Some(path) => format!("trace:{}", path.display()),
            None => self.service.to_string(),
        }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use nebula_nic::erlang_c;

    fn ask(words: &str) -> Result<Answer, Failure> {
        Question::parse(words.split(' '))?.ask(&())
    }

    fn cores(answer: &Answer) -> u64 {
        let value = answer.rows[0].fields().iter().find(|(name, _)| name == "cores").map(|(_, value)| value.clone());
        let Some(Value::Count(cores)) = value else { panic!("{answer:?}") };
        cores
    }

    /// The p99 of an M/M/k in means of the service, by Erlang's formula: the tail beyond t is a sum
    /// of two exponentials.
    fn is_kept(k: u32, erlangs: f64, slo: f64) -> bool {
        let (wait, rate) = (erlang_c(k, erlangs), f64::from(k) - erlangs);
        let late = (1.0 - wait) * (-slo).exp() + wait * ((-rate * slo).exp() - rate * (-slo).exp()) / (1.0 - rate);
        late <= 0.01
    }

    #[test]
    fn the_fewest_cores_are_erlangs() {
        let answer = ask("--rate 7M --service exp:1us --policy single-queue --slo 6us --rpcs 100k").unwrap();
        let by_formula = (8..64).find(|&k| is_kept(k, 7.0, 6.0)).unwrap();
        assert_eq!(cores(&answer), u64::from(by_formula));
        assert!(
            answer.said[0].starts_with(&format!("{by_formula} cores keep a p99 of 6 µs at 7M RPC/s")),
            "{:?}",
            answer.said
        );
    }

    #[test]
    fn a_peak_needs_more_and_a_server_that_is_down_is_told() {
        let answer = ask("--rate 4M --peak 10M --servers 2 --service exp:1us --slo 10us --rpcs 20k").unwrap();
        let alone = ask("--rate 4M --servers 2 --service exp:1us --slo 10us --rpcs 20k").unwrap();
        assert!(cores(&answer) > cores(&alone));
        let scenarios: Vec<String> = answer.rows.iter().map(|row| row.texts()[0].clone()).collect();
        assert_eq!(scenarios, ["usual", "peak", "one server down"]);
        assert!(
            answer.said.last().unwrap().starts_with("With one server down, the others have a load of"),
            "{answer:?}"
        );
    }

    #[test]
    fn a_log_has_a_row_for_each_endpoint() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("prod.csv");
        let lines: String =
            (0..2000).map(|n| if n % 100 == 0 { "scan,90\n".into() } else { format!("get,{}\n", n % 7 + 1) }).collect();
        std::fs::write(&path, format!("endpoint,took\n{lines}")).unwrap();
        let words = format!("--rate 500k --slo 100us --trace {} --column took=us --rpcs 20k", path.display());
        let answer = ask(&words).unwrap();
        assert!(
            answer.said[0].contains("2000 times of the column took in microseconds, of 2 endpoints"),
            "{:?}",
            answer.said
        );
        let of: Vec<String> = answer.rows.iter().map(|row| row.texts()[1].clone()).collect();
        assert_eq!(of, ["all", "scan", "get"]);
        assert!(ask(&words.replace("took=us", "tok=us")).unwrap_err().to_string().contains("no column \"tok\""));
    }

    #[test]
    fn what_no_number_of_cores_keeps_is_refused() {
        let said = ask("--rate 1M --service exp:1us --slo 3us --rpcs 20k").unwrap_err().to_string();
        assert!(said.starts_with("no number of cores keeps a p99 of 3 µs"), "{said}");
        assert!(ask("--rate 1M").unwrap_err().to_string().contains("give a --trace"));
        assert!(ask("--rate 1M --cores 4").is_err());
    }
}
