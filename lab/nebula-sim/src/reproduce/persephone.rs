//! Perséphone: the cores that DARC reserves for short RPCs, and the loads that it sustains.

use super::lab::Lab;
use super::paper::{self, ReservedFor};
use super::reproduction::{ReproduceError, Reproduction};
use super::row::{Judgment, Row};
use super::wording;
use crate::interval::Interval;
use nebula_nic::schedule::{Darc, DarcConfig, RpcType};
use nebula_workload::Seed;

/// The reservation that DARC computes from a window of each workload.
pub(super) fn reservation(lab: &Lab<'_>) -> Result<Reproduction, ReproduceError> {
    let paper = paper::persephone();
    let setup = &paper.setup.reservation;
    let replications = u64::from(lab.effort.of([4_u32, 10, 40]));
    let row = |case: &ReservedFor| {
        let cores: Vec<f64> =
            (0..replications).map(|index| cores_of(case, setup.workers, lab.seed.replica(index))).collect();
        let (cores, workers) = (Interval::of(&cores), setup.workers);
        let why = format!("{} of {workers} cores, on average over windows", wording::with_interval(cores));
        Row::judged(paper.figure(&format!("persephone/reservation/{}", case.id)), cores, (Judgment::Differs, why))
    };
    Ok(setup.cases.iter().map(row).collect::<Vec<_>>().into())
}

fn cores_of(case: &ReservedFor, workers: u16, seed: Seed) -> f64 {
    let types = case.service.types();
    let place = types.iter().position(|kind| kind.0 == case.of).and_then(|place| u8::try_from(place).ok());
    let kind = place.unwrap_or_else(|| panic!("{:?} has no type {:?}", case.id, case.of));
    let count = u8::try_from(types.len()).expect("a mix has at most 256 types, and DARC asserts fewer");
    let mut darc = Darc::new(DarcConfig::new(count, workers));
    let mut services = seed.stream("service");
    while darc.plans() == 0 {
        let (kind, service) = case.service.sample_typed(&mut services);
        darc.handle_done(RpcType(kind.0), service);
    }
    darc.reserved(RpcType(kind)).len() as f64
}
