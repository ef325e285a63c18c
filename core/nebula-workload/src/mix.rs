//! The proportions of operations: `get=50,set=50`.

use std::fmt;
use std::str::FromStr;

use crate::error::WorkloadError;
use crate::operation::Op;
use crate::rng::Rng;

/// The weights of the operations: whole numbers, which need not add up to 100. An operation that is
/// not listed has weight 0.
///
/// # Examples
///
/// ```
/// use nebula_workload::{Mix, Op};
///
/// let mix: Mix = "get=95,set=5".parse()?;
/// assert_eq!(mix.share(Op::Get), 0.95);
/// assert_eq!(mix.to_string(), "get=95,set=5");
/// # Ok::<(), nebula_workload::WorkloadError>(())
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Mix {
    /// In the order of [`Op::ALL`].
    weights: [u32; 4],
}

impl Mix {
    /// Only reads.
    pub const READ_ONLY: Self = Self { weights: [1, 0, 0, 0] };

    /// The share of `op`, in 0 to 1.
    #[must_use]
    pub fn share(&self, op: Op) -> f64 {
        f64::from(self.weights[op as usize]) / self.total() as f64
    }

    /// Draws an operation.
    #[inline]
    pub fn pick(&self, rng: &mut Rng) -> Op {
        let drawn = rng.below(self.total());
        let [get, set, delete, _] = self.weights.map(u64::from);
        match drawn {
            drawn if drawn < get => Op::Get,
            drawn if drawn < get + set => Op::Set,
            drawn if drawn < get + set + delete => Op::Delete,
            _ => Op::Scan,
        }
    }

    /// The sum of the weights.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.weights.iter().map(|&weight| u64::from(weight)).sum()
    }
}

/// Half reads, half writes: the mix of NEBULA's key-value evaluation.
impl Default for Mix {
    fn default() -> Self {
        Self { weights: [50, 50, 0, 0] }
    }
}

const EXPECTED: &str = "each operation once with a whole weight, not all 0, such as get=50,set=45,delete=5";

impl FromStr for Mix {
    type Err = WorkloadError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || WorkloadError::spelling("mix", text, EXPECTED);
        let mut weights = [None; 4];
        for part in text.split(',') {
            let (op, weight) = parse_part(part).ok_or_else(wrong)?;
            if weights[op as usize].replace(weight).is_some() {
                return Err(wrong());
            }
        }
        let mix = Self { weights: weights.map(Option::unwrap_or_default) };
        if mix.total() == 0 { Err(wrong()) } else { Ok(mix) }
    }
}

fn parse_part(part: &str) -> Option<(Op, u32)> {
    let (op, weight) = part.split_once('=')?;
    Some((op.trim().parse().ok()?, weight.trim().parse().ok()?))
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = Op::ALL.into_iter().zip(self.weights).filter(|&(_, weight)| weight > 0);
        for (index, (op, weight)) in named.enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{op}={weight}")?;
        }
        Ok(())
    }
}
