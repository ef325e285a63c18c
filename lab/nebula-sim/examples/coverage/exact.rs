//! Latencies that are known exactly, in mean service times: the mean, and the share of RPCs that
//! take longer than some time.

use nebula_nic::erlang_c;

/// The latency of a system at a load.
pub(crate) struct Exact {
    pub(crate) mean: f64,
    later: Box<dyn Fn(f64) -> f64>,
}

impl Exact {
    fn new(mean: f64, later: impl Fn(f64) -> f64 + 'static) -> Self {
        Self { mean, later: Box::new(later) }
    }

    /// The time that 99 % of all RPCs do not exceed.
    pub(crate) fn p99(&self) -> f64 {
        let (mut low, mut high) = (0.0, 1e6);
        for _ in 0..100 {
            let middle = f64::midpoint(low, high);
            if (self.later)(middle) > 0.01 { low = middle } else { high = middle }
        }
        high
    }
}

/// M/M/k: an RPC waits with Erlang C's probability, and then for an exponential time.
pub(crate) fn mmk(cores: u32, load: f64) -> Exact {
    let (all, busy) = (f64::from(cores), load * f64::from(cores));
    let (waits, drain) = (erlang_c(cores, busy), all - busy);
    Exact::new(1.0 + waits / drain, move |time| {
        let served = (-time).exp();
        let both = match (drain - 1.0).abs() < 1e-9 {
            true => (1.0 + time) * served,
            false => (drain * served - (-drain * time).exp()) / (drain - 1.0),
        };
        (1.0 - waits) * served + waits * both
    })
}

/// Poisson arrivals that are dealt out in turn to so many cores: E_k/M/1, whose latency is
/// exponential.
pub(crate) fn in_turn(cores: u32, load: f64) -> Exact {
    let phase = f64::from(cores) * load;
    let root = (0..10_000).fold(0.5_f64, |root, _| (phase / (phase + 1.0 - root)).powf(f64::from(cores)));
    Exact::new(1.0 / (1.0 - root), move |time| (-(1.0 - root) * time).exp())
}

/// JBSQ(2) with exponential service: a Markov chain of how many cores have one RPC and how many
/// have two. While all have two the central queue is that of M/M/1.
pub(crate) fn jbsq2(cores: usize, load: f64) -> Exact {
    let all = cores as f64;
    let arrive = load * all;
    let mut chance = vec![vec![0.0_f64; cores + 2]; cores + 2];
    chance[0][0] = 1.0;
    for _ in 0..20_000 {
        for one in 0..=cores {
            for two in 0..=cores - one {
                let above = if one > 0 && one + two <= cores { chance[one - 1][two] * arrive } else { 0.0 };
                let last = if two > 0 && one + two == cores { chance[one + 1][two - 1] * arrive } else { 0.0 };
                let ends = if one + two < cores { chance[one + 1][two] * (one + 1) as f64 } else { 0.0 };
                let halves = if one > 0 { chance[one - 1][two + 1] * (two + 1) as f64 } else { 0.0 };
                let leaves = (one + two) as f64 + if two == cores { 0.0 } else { arrive };
                if one + two > 0 {
                    chance[one][two] = (above + last + ends + halves) / leaves;
                }
            }
        }
    }
    let full = chance[0][cores] / (1.0 - load);
    let of = |holds: &dyn Fn(usize, usize) -> bool| -> f64 {
        let each = (0..=cores).flat_map(|one| (0..=cores - one).map(move |two| (one, two)));
        each.filter(|&(one, two)| holds(one, two)).map(|(one, two)| chance[one][two]).sum()
    };
    let idle = of(&|one, two| one + two < cores);
    let behind = of(&|one, two| one + two == cores && two < cores);
    let sum = idle + behind + full;
    let (idle, behind, full) = (idle / sum, behind / sum, full / sum);
    let drain = all - arrive;
    let mean = idle + 2.0 * behind + full * (2.0 + 1.0 / drain);
    Exact::new(mean, move |time| {
        let (one, two) = ((-time).exp(), (1.0 + time) * (-time).exp());
        let rest = 1.0 - drain;
        let part = match rest.abs() < 1e-9 {
            true => time * time / 2.0,
            false => (1.0 - (1.0 + rest * time) * (-rest * time).exp()) / (rest * rest),
        };
        idle * one + behind * two + full * (two + (-drain * time).exp() * part)
    })
}

/// M/G/1 by Pollaczek and Khinchine: the wait is a geometric sum of residual services. `until` is
/// the integral of the share of services longer than a time, from zero; `longer` is that share.
pub(crate) fn mg1(scv: f64, load: f64, until: fn(f64) -> f64, longer: fn(f64) -> f64) -> Exact {
    const STEPS_A_SERVICE: f64 = 1000.0;
    let step = 1.0 / STEPS_A_SERVICE;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some thousands")]
    let cells = (STEPS_A_SERVICE * 5.0 * (1.0 + scv) / (1.0 - load)) as usize;
    let at = |cell: usize| until((cell as f64 + 0.5) * step);
    let rest: Vec<f64> = (0..cells).map(|cell| at(cell) - if cell == 0 { 0.0 } else { at(cell - 1) }).collect();
    let longest = rest.iter().rposition(|&share| share > 0.0).unwrap_or(0);
    let scale = 1.0 / (1.0 - load * rest[0]);
    let mut wait = vec![(1.0 - load) * scale];
    for cell in 1..cells {
        let sum: f64 = (1..=cell.min(longest)).map(|part| rest[part] * wait[cell - part]).sum();
        wait.push(load * scale * sum);
    }
    Exact::new(1.0 + load * (1.0 + scv) / (2.0 * (1.0 - load)), move |time| {
        let seen: f64 = wait.iter().sum();
        let within = |(cell, share): (usize, &f64)| share * longer(time - cell as f64 * step);
        wait.iter().enumerate().map(within).sum::<f64>() + (1.0 - seen)
    })
}

/// Exponential service on so many cores, where an arrival finds `n` RPCs with a chance in
/// proportion to `weights[n]`.
fn found(cores: usize, weights: Vec<f64>) -> Exact {
    let sum: f64 = weights.iter().sum();
    let all = cores as f64;
    let waits = move |within: usize| (within + 1).saturating_sub(cores);
    let mean =
        weights.iter().enumerate().map(|(within, weight)| weight * (1.0 + waits(within) as f64 / all)).sum::<f64>();
    Exact::new(mean / sum, move |time| {
        let each = weights.iter().enumerate();
        each.map(|(within, weight)| weight * erlang_and_one(waits(within), all, time)).sum::<f64>() / sum
    })
}

/// The chance that the sum of `phases` exponential times of a rate and one of rate 1 is longer than
/// `time`.
fn erlang_and_one(phases: usize, rate: f64, time: f64) -> f64 {
    let longer = |rate: f64| {
        let mut term = (-rate * time).exp();
        (0..phases).fold(0.0, |sum, phase| {
            let next = sum + term;
            term *= rate * time / (phase + 1) as f64;
            next
        })
    };
    let served = (-time).exp() * (rate / (rate - 1.0)).powf(phases as f64) * (1.0 - longer(rate - 1.0));
    longer(rate) + served
}

/// M/M/k with at most `bound` waiting, of the RPCs served.
pub(crate) fn bounded(cores: usize, bound: usize, load: f64) -> Exact {
    let arrive = load * cores as f64;
    let mut weights = vec![1.0];
    for within in 1..cores + bound {
        weights.push(weights[within - 1] * arrive / within.min(cores) as f64);
    }
    found(cores, weights)
}

/// A closed loop of `clients` that think for `think` mean services: the arrival theorem.
pub(crate) fn closed(cores: usize, clients: usize, think: f64) -> Exact {
    let mut weights = vec![1.0];
    for within in 1..clients {
        weights.push(weights[within - 1] * (clients - within) as f64 / think / within.min(cores) as f64);
    }
    found(cores, weights)
}
