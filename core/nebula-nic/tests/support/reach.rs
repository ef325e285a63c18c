//! Counters of rare branches: a random test that misses one has tested too little.

use std::collections::BTreeMap;

#[derive(Clone, Debug, Default)]
pub struct Reach(BTreeMap<&'static str, u64>);

impl Reach {
    pub fn count(&mut self, branch: &'static str) {
        *self.0.entry(branch).or_default() += 1;
    }

    pub fn add(&mut self, other: &Self) {
        for (branch, count) in &other.0 {
            *self.0.entry(branch).or_default() += count;
        }
    }

    pub fn assert_reached(&self, branches: &[&'static str]) {
        let missed: Vec<_> = branches.iter().filter(|branch| !self.0.contains_key(*branch)).collect();
        assert!(missed.is_empty(), "never reached {missed:?}; reached {:#?}", self.0);
    }
}
