//! The outcome of the RPCs of flows that send little.

/// The RPCs of the flows that send fewer than the mean flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LightFlows {
    /// The first of these flows: flows are numbered by descending load.
    first: u32,
    /// RPCs that were served.
    pub served: u64,
    /// RPCs that their client abandoned after a NACK.
    pub given_up: u64,
}

impl LightFlows {
    pub(crate) const fn from(first: u32) -> Self {
        Self { first, served: 0, given_up: 0 }
    }

    #[inline]
    pub(crate) fn note(&mut self, flow: u32, is_served: bool) {
        let is_light = flow >= self.first;
        self.served += u64::from(is_light && is_served);
        self.given_up += u64::from(is_light && !is_served);
    }

    pub(crate) const fn add(&mut self, more: &Self) {
        self.served += more.served;
        self.given_up += more.given_up;
    }

    /// The share served; `None` without RPCs.
    #[must_use]
    pub fn accepted(&self) -> Option<f64> {
        let all = self.served + self.given_up;
        (all > 0).then(|| self.served as f64 / all as f64)
    }
}
