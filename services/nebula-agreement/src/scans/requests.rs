//! The requests of a run, and the times between them.

use nebula_kvs::protocol as key_value;
use nebula_kvs::protocol::scan::Request;
use nebula_workload::{Rng, Seed};

use super::setup::{KINDS, Setup};

pub(super) struct Draw {
    rng: Rng,
    scans: f64,
    items: u16,
    keys: u64,
    request: Vec<u8>,
}

impl Draw {
    pub(super) fn new(setup: &Setup, stream: u64) -> Self {
        let rng = Seed(setup.seed).replica(stream).stream("demo scans");
        Self { rng, scans: setup.scans, items: setup.scan_items, keys: setup.keys, request: Vec::new() }
    }

    pub(super) fn next(&mut self) -> (usize, &[u8]) {
        let from = self.rng.below(self.keys).to_be_bytes();
        let kind = usize::from(self.rng.unit() < self.scans);
        let request = match KINDS[kind] {
            "scan" => Request::Scan { from: &from, items: self.items },
            _ => Request::Pair(key_value::Request::Get { key: &from }),
        };
        self.request.resize(request.encoded_bytes(), 0);
        // The buffer has its exact length.
        let _ = request.encode_into(&mut self.request);
        (kind, &self.request)
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some microseconds")]
    pub(super) fn gap_ps(&mut self, mean_ps: f64) -> u64 {
        (self.rng.exponential() * mean_ps) as u64
    }
}
