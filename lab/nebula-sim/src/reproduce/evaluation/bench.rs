//! The runs: points, curves, and searches for the highest rate at the SLO.

use super::super::paper::{self, Design, Evaluation};
use super::case::Case;
use super::point::{Highest, Point, mrps};
use crate::blocks;
use crate::executor::try_each;
use crate::experiment::Effort as Runs;
pub(in super::super) use crate::reproduce::evaluation::depth::Depth;
use crate::reproduce::lab::{Effort, Lab};
use crate::reproduce::reproduction::ReproduceError;
use crate::search::Bracket;
use nebula_nic::Span;
use nebula_workload::Rate;
use std::sync::Arc;

impl Depth {
    const fn new(rpcs: u64, replications: u32, width_krps: u32) -> Self {
        Self { rpcs, warmup: None, replications, width_krps }
    }

    fn of(effort: Effort) -> Self {
        let quick = Self { warmup: Some(38_000), ..Self::new(17_000, 3, 310) };
        effort.of([quick, Self::new(50_000, 4, 2 * 80), Self::new(80_000, 8, 80)])
    }
}

pub(in super::super) struct Bench<'a> {
    lab: &'a Lab<'a>,
    depth: Depth,
    pub(in super::super) setup: &'static Evaluation,
}

impl<'a> Bench<'a> {
    pub(in super::super) fn new(lab: &'a Lab<'a>) -> Self {
        Self::to_depth(lab, Depth::of(lab.effort))
    }

    pub(super) fn to_depth(lab: &'a Lab<'a>, depth: Depth) -> Self {
        Self { lab, depth, setup: &paper::nebula().setup.evaluation }
    }

    pub(in super::super) fn case(&self, design: Design) -> Case {
        Case::new(self.setup, design)
    }

    pub(in super::super) fn cores(&self) -> u16 {
        self.case(Design::Base).scenario(self.setup).machine.memory.cores
    }

    /// The DRAM's peak bandwidth, in 10⁹ bytes per second.
    pub(in super::super) fn dram_gb_per_s_max(&self) -> f64 {
        let dram = self.case(Design::Base).scenario(self.setup).machine.memory.dram;
        f64::from(dram.channels) * dram.gb_per_s
    }

    /// Makes the runs of all rows in parallel: curves, then searches, then single points.
    pub(in super::super) fn prepare(
        &self,
        curves: &[Case],
        searches: &[Case],
        points: &[(Case, f64)],
    ) -> Result<(), ReproduceError> {
        self.lab.expect(curves.len() + searches.len() + points.len(), 1);
        let step = |done: Result<(), ReproduceError>| done.map(|()| self.lab.progress.step());
        let lines = curves.iter().map(|&case| (case, true)).chain(searches.iter().map(|&case| (case, false)));
        let lines: Vec<(Case, bool)> = lines.collect();
        try_each(&lines, |&(case, is_curve)| {
            step(if is_curve { self.curve(case).map(drop) } else { self.highest(case).map(drop) })
        })?;
        try_each(points, |&(case, gap_ns)| step(self.at(case, gap_ns).map(drop))).map(drop)
    }

    pub(in super::super) fn at(&self, case: Case, gap_ns: f64) -> Result<Arc<Point>, ReproduceError> {
        let key = (case, gap_ns.to_bits(), self.depth, self.lab.seed.0);
        self.lab.memo.points.get_or_run(key, || {
            let rate = Rate::try_new(1e9 / gap_ns)?;
            let shown = blocks::estimate(&case.scenario(self.setup), rate, &self.runs(), &|| ())?;
            Ok(Arc::new(Point::of(mrps(gap_ns), &shown)))
        })
    }

    /// A case at so low a load that each RPC is alone in the server.
    pub(in super::super) fn alone(&self, case: Case) -> Result<Arc<Point>, ReproduceError> {
        const GAP_NS: f64 = 6_250.0;
        self.at(case, GAP_NS)
    }

    /// The SLO: the same for all designs.
    pub(in super::super) fn slo(&self, case: Case) -> Result<Span, ReproduceError> {
        let case = case.under(Design::Base);
        let slo = || case.scenario(self.setup).slo(self.setup.slo_services, self.lab.seed);
        Ok(self.lab.memo.slos.get_or_run((case, self.lab.seed.0), slo)?)
    }

    pub(in super::super) fn highest(&self, case: Case) -> Result<Arc<Highest>, ReproduceError> {
        self.lab.memo.highest.get_or_run((case, self.depth, self.lab.seed.0), || {
            let (scenario, slo) = (case.scenario(self.setup), self.slo(case)?);
            let found = blocks::rate_at_slo(&scenario, slo, self.bracket(), &self.runs(), &|| ())?;
            Ok(Arc::new(Highest::of(&found, self.bracket())))
        })
    }

    /// The grid's points up to the first at which all miss the SLO; quick runs have a coarse grid.
    pub(in super::super) fn curve(&self, case: Case) -> Result<Vec<Arc<Point>>, ReproduceError> {
        let slo = self.slo(case)?;
        let grid = if self.lab.effort == Effort::Quick { &self.setup.coarse_gaps_ns } else { &self.setup.gaps_ns };
        let mut points = Vec::new();
        for &gap_ns in grid {
            points.push(self.at(case, gap_ns)?);
            if points.last().is_some_and(|last| last.is_missed_by_all(slo)) {
                break;
            }
        }
        Ok(points)
    }

    fn bracket(&self) -> Bracket {
        let rps = |gap_ns: Option<&f64>| 1e9 / gap_ns.expect("the grid has loads");
        let (lowest, highest) = (rps(self.setup.gaps_ns.first()), rps(self.setup.gaps_ns.last()));
        Bracket { lowest, highest, width: f64::from(self.depth.width_krps) * 1e3 }
    }

    /// These cases, and the unfitted variants of those that are also searched unfitted.
    pub(in super::super) fn with_unfitted(&self, cases: &[Case]) -> Vec<Case> {
        let unfitted = cases.iter().filter(|&&case| self.is_unfitted_run(case)).map(|case| case.unfitted());
        cases.iter().copied().chain(unfitted).collect()
    }

    /// Whether this case is also searched without fitted parameters. Quick runs do so for the
    /// designs of figure 6a only, with the usual mix and values.
    pub(super) fn is_unfitted_run(&self, case: Case) -> bool {
        let is_usual = case == self.case(case.design) && case.design != Design::SwPref;
        self.lab.effort != Effort::Quick || is_usual
    }

    fn runs(&self) -> Runs {
        let Depth { rpcs, warmup, replications, .. } = self.depth;
        Runs { warmup, ..self.lab.runs(rpcs, replications) }
    }
}
