//! A noisy neighbor: the effect of a domain offered ten times its share on another one on the same
//! core.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use nebula_nic::{Lending, Span};
use std::collections::VecDeque;
use std::num::NonZeroU16;

/// Times of an RPC, a refusal and a look for work, in nanoseconds.
const SERVICE_NS: u64 = 1000;
const REFUSAL_NS: u64 = 100;
const LOOK_NS: u64 = 50;
/// Packets that a turn reads at most (the rest stays where it is), RPCs of a turn, and RPCs that
/// wait in a domain before further ones are refused.
const PACKETS_MAX: u32 = 4;
const TURN_RPCS: usize = 2;
const BOUND: usize = 64;

/// A domain's exponential arrivals and its waiting RPCs.
struct Domain {
    mean_ns: f64,
    next_ns: u64,
    word: u64,
    waits: VecDeque<u64>,
    latencies: Vec<u64>,
    served: u64,
}

impl Domain {
    #[expect(clippy::cast_precision_loss, reason = "a microsecond")]
    fn new(load: f64, seed: u64) -> Self {
        let mean_ns = SERVICE_NS as f64 / load;
        let mut domain =
            Self { mean_ns, next_ns: 0, word: seed, waits: VecDeque::new(), latencies: Vec::new(), served: 0 };
        domain.draw();
        domain
    }

    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a draw")]
    fn draw(&mut self) {
        self.word = self.word.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let uniform = ((self.word >> 11) as f64 + 1.0) / (1_u64 << 53) as f64;
        self.next_ns += (-uniform.ln() * self.mean_ns) as u64;
    }

    /// A turn that begins at `now`: its end, and whether it had work.
    fn turn(&mut self, mut now: u64) -> (u64, bool) {
        let (began, mut packets) = (now, 0_u32);
        now += LOOK_NS;
        while self.next_ns <= began && packets < PACKETS_MAX {
            packets += 1;
            match self.waits.len() < BOUND {
                true => self.waits.push_back(self.next_ns),
                false => now += REFUSAL_NS,
            }
            self.draw();
        }
        let mut served = 0;
        while served < TURN_RPCS
            && let Some(arrived) = self.waits.pop_front()
        {
            now += SERVICE_NS;
            self.latencies.push(now - arrived);
            served += 1;
        }
        self.served += served as u64;
        (now, packets > 0 || served > 0)
    }
}

/// With these loads, the p99 of the first domain's latency and the second one's share of the core.
fn p99_ns(loads: [f64; 2]) -> (u64, f64) {
    let weights = [NonZeroU16::MIN; 2];
    let mut lending = Lending::new(&weights, Span::from_us(2));
    let mut domains = [Domain::new(loads[0], 1), Domain::new(loads[1], 2)];
    let (mut now, mut used) = (0, [0; 2]);
    while now < 2_000_000_000 {
        let domain = lending.pick();
        let (ends, had_work) = domains[domain].turn(now);
        lending.used(domain, Span::from_ns(ends - now), had_work);
        used[domain] += if had_work { ends - now } else { 0 };
        now = ends;
    }
    let latencies = &mut domains[0].latencies;
    latencies.sort_unstable();
    #[expect(clippy::cast_precision_loss, reason = "two seconds")]
    let share = used[1] as f64 / now as f64;
    (latencies[latencies.len() * 99 / 100], share)
}

#[test]
fn ten_times_its_share_moves_the_others_p99_by_less_than_a_tenth() {
    for load in [0.1, 0.2, 0.3, 0.4] {
        // The second one's share includes what the first leaves of its half.
        let (at_share, _) = p99_ns([load, 1.0 - load]);
        let (at_ten, used) = p99_ns([load, 10.0 * (1.0 - load)]);
        assert!(at_ten * 10 <= at_share * 11, "p99 {at_ten} ns, {at_share} ns beside its share, at {load}");
        assert!(used > 0.9 * (1.0 - load), "the others have what is left: {used} of the core at {load}");
    }
}
