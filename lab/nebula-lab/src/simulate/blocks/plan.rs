//! The scenarios and rates to simulate, validated before the first run.

use std::sync::Arc;

use nebula_nic::Span;
use nebula_sim::blocks::{Application, Design, KeyValue, Machine, Scenario};
use nebula_sim::study::blocks::{self, Findings, Point, Setting};
use nebula_workload::{Mix, Op, Rate, Seed};

use super::super::question::Question;
use super::files;
use super::words::Changes;
use crate::words::Slo;
use crate::{Failure, Progress, Workers};

#[derive(Clone, Debug)]
pub(super) struct Plan {
    setting: Arc<Setting>,
    points: Vec<Point>,
}

impl Plan {
    pub(super) fn run(&self, seed: Seed, workers: &Workers, progress: &dyn Progress) -> Result<Findings, Failure> {
        let Self { setting, points } = self;
        let runs = if setting.searches { 2 } else { 1 };
        progress.expect(runs * points.len() as u64 * u64::from(setting.effort.replications));
        Ok(blocks::run(setting, points, seed, workers, &|| progress.step())?)
    }
}

/// Every design at every rate, validated.
pub(super) fn plan(args: &Question, machine: &str) -> Result<Plan, Failure> {
    let effort = args.effort.of_blocks();
    effort.validate()?;
    let scenarios = scenarios(args, machine)?;
    let first = scenarios.first().ok_or_else(|| Failure::bad_input("--design: give at least one design"))?;
    let setting = Arc::new(Setting {
        machine: first.machine.clone(),
        application: args.blocks.application.as_deref().map_or("kvs".to_owned(), files::name),
        store: store(&first.application).map(|store| (store.get_share, store.value_bytes)),
        arrivals: first.arrivals.to_string(),
        hog_gb_per_s: first.hog_gb_per_s,
        slo: slo(args, first)?,
        effort,
        searches: args.find_slo,
    });
    let rates = rates(args, first)?;
    let point = |scenario: &Scenario, rate| Point { setting: setting.clone(), scenario: scenario.clone(), rate };
    let at_all = |scenario| rates.iter().map(move |&rate| point(scenario, rate));
    let points = scenarios.iter().flat_map(at_all).collect();
    Ok(Plan { setting, points })
}

fn scenarios(args: &Question, machine: &str) -> Result<Vec<Scenario>, Failure> {
    let changes = Changes::of(&args.blocks.set)?;
    let machine = with_buffer(files::machine(machine, &changes)?, args.blocks.receive_buffer)?;
    let application = application(args)?;
    let designs: Vec<Design> = match args.blocks.design.is_empty() {
        true => files::designs(&changes)?,
        false => args.blocks.design.iter().map(|design| files::design(design, &changes)).collect::<Result<_, _>>()?,
    };
    let hog_gb_per_s = hog(args, &machine)?;
    let scenario = |design| Scenario {
        arrivals: args.arrivals.clone(),
        hog_gb_per_s,
        ..Scenario::new(machine.clone(), design, application.clone())
    };
    let scenarios: Vec<Scenario> = designs.into_iter().map(scenario).collect();
    scenarios.iter().try_for_each(Scenario::validate)?;
    Ok(scenarios)
}

/// The hog's bandwidth, if DRAM sustains it: beyond that a run would never end.
fn hog(args: &Question, machine: &Machine) -> Result<f64, Failure> {
    /// Bus turnarounds, refresh and row misses take the rest.
    const SHARE_MAX: f64 = 0.8;
    let (hog, most) = (args.blocks.hog.map_or(0.0, |hog| hog.0), SHARE_MAX * machine.memory.peak_gb_per_s());
    match hog <= most {
        true => Ok(hog),
        false => Err(Failure::bad_input(format!(
            "--hog: the DRAM of {} has a peak of {} GB/s: give at most {most:.1}GB/s, not {hog}GB/s",
            machine.name,
            machine.memory.peak_gb_per_s()
        ))),
    }
}

fn with_buffer(mut machine: Machine, bytes: Option<u64>) -> Result<Machine, Failure> {
    if let Some(bytes) = bytes {
        let fits = u32::try_from(bytes).ok().filter(|bytes| (512..=1_000_000_000).contains(bytes));
        machine.deployment.receive_buffer_bytes = fits.ok_or_else(|| {
            Failure::bad_input(format!("--receive-buffer: give 512 to 1000000000 bytes, not {bytes}"))
        })?;
    }
    Ok(machine)
}

fn application(args: &Question) -> Result<Application, Failure> {
    let mut application = files::application(args.blocks.application.as_deref().unwrap_or("kvs"))?;
    let Application::KeyValue(store) = &mut application else {
        let flag = args.blocks.mix.map(|_| "--mix").or(args.blocks.value_bytes.map(|_| "--value-bytes"));
        return flag.map_or(Ok(application), |flag| {
            Err(Failure::bad_input(format!(
                "{flag} applies to a key-value store only: remove it, or remove --application"
            )))
        });
    };
    if let Some(mix) = args.blocks.mix {
        store.get_share = get_share(mix)?;
    }
    store.value_bytes = args.blocks.value_bytes.unwrap_or(store.value_bytes);
    Ok(application)
}

fn get_share(mix: Mix) -> Result<f64, Failure> {
    match mix.share(Op::Delete) + mix.share(Op::Scan) > 0.0 {
        true => Err(Failure::bad_input(
            "--mix: the simulated store supports neither delete nor scan: give get and set, such as get=50,set=50",
        )),
        false => Ok(mix.share(Op::Get)),
    }
}

const fn store(application: &Application) -> Option<&KeyValue> {
    match application {
        Application::KeyValue(store) => Some(store),
        _ => None,
    }
}

fn slo(args: &Question, scenario: &Scenario) -> Result<Span, Failure> {
    Ok(match args.slo {
        Slo::Times(times) => scenario.slo(times, args.effort.seed())?,
        Slo::Within(span) => span,
    })
}

/// The given rates; one placeholder with `--find-slo`.
fn rates(args: &Question, scenario: &Scenario) -> Result<Vec<Option<Rate>>, Failure> {
    if args.find_slo {
        return Ok(vec![None]);
    }
    if let Some(rates) = &args.blocks.rate {
        return Ok(rates.0.iter().copied().map(Some).collect());
    }
    let alone = scenario.slo(1.0, args.effort.seed())?;
    let capacity_rps = f64::from(scenario.machine.memory.cores) / alone.as_secs_f64();
    SHARES.iter().map(|share| Ok(Some(Rate::try_new(round(share * capacity_rps))?))).collect()
}

/// The default rates, as shares of the rate that the cores serve at the unloaded service time.
const SHARES: [f64; 6] = [0.2, 0.4, 0.6, 0.8, 0.9, 1.0];

fn round(rps: f64) -> f64 {
    let unit = 10f64.powf(rps.log10().floor() - 1.0);
    (rps / unit).round() * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_unless_given_are_round() {
        assert_eq!([25.39e6, 5.08e6, 999.0e3].map(round), [25e6, 5.1e6, 1e6]);
    }

    #[test]
    fn a_mix_is_the_share_of_gets_and_has_no_deletes() {
        assert_eq!(get_share("get=95,set=5".parse().unwrap()).unwrap(), 0.95);
        assert_eq!(get_share("set=1".parse().unwrap()).unwrap(), 0.0);
        assert!(get_share("get=1,delete=1".parse().unwrap()).is_err());
    }

    #[test]
    fn a_buffer_takes_the_place_of_the_machines() {
        let machine = || files::machine("isca20", &Changes::default()).unwrap();
        let bytes = |machine: Machine| machine.deployment.receive_buffer_bytes;
        assert_eq!(bytes(with_buffer(machine(), Some(40 << 10)).unwrap()), 40 << 10);
        assert_eq!(bytes(with_buffer(machine(), None).unwrap()), bytes(machine()));
        assert!(with_buffer(machine(), Some(1 << 40)).is_err());
    }
}
