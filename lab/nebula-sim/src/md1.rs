//! M/D/1 exactly (Erlang, 1909): one core, Poisson arrivals, equal service times.
//!
//! Where each RPC goes to a random core and service times are equal, each core is such a queue.
//! Unequal service times of the same mean make RPCs wait longer.

/// The share of RPCs that wait for at most `waits` service times at this load.
///
/// # Examples
///
/// ```
/// use nebula_sim::md1;
///
/// // Those that find the core idle do not wait.
/// assert!((md1::waits_at_most(0.0, 0.7) - 0.3).abs() < 1e-12);
/// ```
#[must_use]
pub fn waits_at_most(waits: f64, load: f64) -> f64 {
    let mut sum = 0.0;
    let mut begun = 0.0;
    while begun <= waits {
        let past = load * (begun - waits);
        // past^begun / begun!, in a product of small factors.
        let mut term = libm::exp(-past);
        let mut factor = 1.0;
        while factor <= begun {
            term *= past / factor;
            factor += 1.0;
        }
        sum += term;
        begun += 1.0;
    }
    (1.0 - load) * sum
}

/// The p99 of wait and service, in service times. Takes some thousand multiplications.
#[must_use]
pub fn p99(load: f64) -> f64 {
    // The sum of alternating terms is exact enough up to here; the load is then about 0.9.
    let (mut low, mut high) = (0.0, LONGEST);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if waits_at_most(middle, load) < 0.99 { low = middle } else { high = middle }
    }
    1.0 + high
}

/// The highest load with a p99 of at most `services` service times. Takes sixty calls of [`p99`].
#[must_use]
pub fn load_at(services: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if p99(middle) <= services { low = middle } else { high = middle }
    }
    low
}

/// The longest wait that is looked for, in service times.
const LONGEST: f64 = 20.0;

#[cfg(test)]
mod tests {
    use super::*;
    use nebula_workload::Seed;

    /// The share of RPCs that wait for at most `waits`, by Lindley's recursion.
    fn simulated(waits: f64, load: f64) -> f64 {
        let mut rng = Seed(1).stream("gaps");
        let (mut wait, mut within) = (0.0_f64, 0_u32);
        let rpcs = 2_000_000;
        for _ in 0..rpcs {
            within += u32::from(wait <= waits);
            wait = (wait + 1.0 + libm::log(1.0 - rng.unit()) / load).max(0.0);
        }
        f64::from(within) / f64::from(rpcs)
    }

    #[test]
    fn the_formula_is_what_a_simulation_gives() {
        for (waits, load) in [(0.5, 0.5), (2.0, 0.63), (6.45, 0.7), (9.0, 0.7736)] {
            let (exact, found) = (waits_at_most(waits, load), simulated(waits, load));
            assert!((exact - found).abs() < 0.002, "{waits} at {load}: {exact}, {found}");
        }
    }

    #[test]
    fn ten_service_times_are_kept_up_to_a_load_of_0_77() {
        // An independent program finds 0.773 for sixteen such queues, and a p99 of 7.45 at 0.7.
        assert!((load_at(10.0) - 0.773).abs() < 0.002, "{}", load_at(10.0));
        assert!((p99(0.7) - 7.45).abs() < 0.05, "{}", p99(0.7));
        assert!((p99(load_at(10.0)) - 10.0).abs() < 1e-6);
    }
}
