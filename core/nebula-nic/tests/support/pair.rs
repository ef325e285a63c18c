//! A back end and its model: both get the same inputs, and all results are compared.

use super::model::Model;
use super::op::{Op, STEP};
use nebula_nic::{Backend, BackendConfig, CoreId, LogLine, Policy, ScrubMode, Timestamp};

#[derive(Clone)]
pub struct Pair {
    pub real: Backend,
    pub model: Model,
    pub now: Timestamp,
}

impl Pair {
    /// 4 slots, 2 reassembler entries, 2 cores.
    pub fn tiny(policy: Policy, scrub: ScrubMode) -> Self {
        let config = BackendConfig::new(2, policy).slots(4).rpc_bytes_max(192).reassembler_entries(2).queue_bound(2);
        let config = config.scrub(scrub).reassembly_timeout(STEP * 2);
        Self::new(config)
    }

    pub fn new(config: BackendConfig) -> Self {
        let real = Backend::try_new(config).expect("tests use configurations that are possible");
        Self { real, model: Model::new(config), now: Timestamp::ZERO }
    }

    /// Applies an operation if possible; its line of a log.
    pub fn apply(&mut self, op: Op) -> Option<LogLine> {
        let (passed, input) = op.input(&self.model)?;
        self.now += passed;
        let line = LogLine::record(&mut self.real, self.now, input);
        let decided = self.model.decide(self.now, input, &line.decisions);
        assert_eq!(line.decisions, decided, "on {input}");
        self.keeps_its_bounds();
        Some(line)
    }

    fn keeps_its_bounds(&self) {
        let (real, model) = (&self.real, &self.model);
        assert_eq!(real.queue_depth() as usize, model.queue_depth());
        assert_eq!((real.slots_used(), real.incomplete() as usize), (model.slots_used(), model.incomplete()));
        let counters = real.counters();
        assert_eq!(counters.completed, counters.dispatched + u64::from(real.queue_depth()), "none lost, none twice");
        for core in (0..model.config.cores).map(CoreId) {
            assert_eq!(real.outstanding(core), model.outstanding(core));
            assert!(real.outstanding(core) <= self.model.dispatch_bound());
        }
    }
}
