//! Tenants: groups of sources with weights.
//!
//! Admitted RPCs are shared among tenants by weight, and a tenant's evenly among its sources. The
//! shares are max-min fair: a tenant that asks for less than its part by weight gets all of that,
//! and the others share the rest by weight. There are at most 16 tenants, so the shares can be
//! computed again at the end of each round.

use crate::id::NodeId;
use alloc::boxed::Box;
use core::fmt;

/// The most tenants.
pub const TENANTS_MAX: usize = 16;

/// The bits of a client's number that identify its tenant, and each tenant's weight.
///
/// # Examples
///
/// ```
/// use nebula_nic::{NodeId, Tenants};
///
/// let tenants = Tenants::new(28, &[1, 3]);
/// assert_eq!((tenants.of(NodeId(0x1234_5678)), tenants.weight(1)), (1, 3));
/// assert_eq!(Tenants::ONE.of(NodeId(0x1234_5678)), 0);
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Tenants {
    shift: u8,
    /// 0 behind the last tenant.
    weights: [u8; TENANTS_MAX],
}

impl Tenants {
    /// All clients are of one tenant.
    pub const ONE: Self = Self { shift: 0, weights: [0; TENANTS_MAX] };

    /// Tenants numbered from 0 in the bits from `shift` on, as many bits as the highest number
    /// needs. Building a back end fails if they are invalid: fewer than two tenants or more than
    /// [`TENANTS_MAX`], a weight of 0, or bits beyond those of a number.
    #[must_use]
    pub fn new(shift: u8, weights: &[u8]) -> Self {
        let mut tenants = Self { shift, ..Self::ONE };
        if weights.len() > TENANTS_MAX {
            // Invalid too, and so refused.
            return Self { shift: u8::MAX, ..tenants };
        }
        tenants.weights[..weights.len()].copy_from_slice(weights);
        tenants
    }

    /// Whether there are several.
    #[must_use]
    pub const fn are_several(&self) -> bool {
        self.weights[1] > 0
    }

    /// The tenant of a client.
    #[must_use]
    #[inline]
    pub const fn of(&self, snid: NodeId) -> usize {
        (snid.0.unbounded_shr(self.shift as u32) & ((1 << self.bits()) - 1)) as usize
    }

    /// The weight of a tenant: 1 where none is set.
    #[must_use]
    #[inline]
    pub const fn weight(&self, tenant: usize) -> u32 {
        let weight = if tenant < TENANTS_MAX { self.weights[tenant] } else { 0 };
        if weight == 0 { 1 } else { weight as u32 }
    }

    const fn bits(&self) -> u32 {
        let mut last = TENANTS_MAX - 1;
        while last > 0 && self.weights[last] == 0 {
            last -= 1;
        }
        usize::BITS - last.leading_zeros()
    }

    pub(crate) fn are_possible(&self) -> bool {
        let is_set = |weight: &u8| *weight > 0;
        let first_unset = self.weights.iter().position(|weight| !is_set(weight)).unwrap_or(TENANTS_MAX);
        let has_gap = self.weights[first_unset..].iter().any(is_set);
        *self == Self::ONE || (!has_gap && first_unset > 1 && u32::from(self.shift) + self.bits() <= 32)
    }
}

impl fmt::Debug for Tenants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tenants({self})")
    }
}

/// The first bit and the weights, as `28+1,3`.
impl fmt::Display for Tenants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{}", self.shift, self.weights[0])?;
        self.weights[1..].iter().take_while(|weight| **weight > 0).try_for_each(|weight| write!(f, ",{weight}"))
    }
}

impl core::str::FromStr for Tenants {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let expected = "SHIFT+WEIGHT,WEIGHT,… with 2 to 16 weights from 1 to 255";
        let (shift, weights) = text.split_once('+').ok_or(expected)?;
        let mut read = [0; TENANTS_MAX];
        let mut tenants = 0;
        for weight in weights.split(',') {
            *read.get_mut(tenants).ok_or(expected)? = weight.parse().map_err(|_| expected)?;
            tenants += 1;
        }
        Ok(Self::new(shift.parse().map_err(|_| expected)?, &read[..tenants]))
    }
}

/// The RPCs that a tenant has had in a round.
#[derive(Clone, Copy, Debug, Default)]
struct Had {
    rpcs: u32,
    /// Sources that sent them, or that were refused.
    sources: u32,
    /// The sum of their sources' lightness.
    lightness: u32,
}

impl Had {
    const fn and(self, other: Self) -> Self {
        let sources = if self.sources > other.sources { self.sources } else { other.sources };
        Self { rpcs: self.rpcs + other.rpcs, sources, lightness: self.lightness + other.lightness }
    }

    /// A round added to those before it: older ones fade, instead of being forgotten at once.
    const fn halved_with(self, now: Self) -> Self {
        let Self { rpcs, sources, lightness } = self;
        Self {
            rpcs: (rpcs + now.rpcs) / 2,
            sources: (sources + now.sources).div_ceil(2),
            lightness: (lightness + now.lightness) / 2,
        }
    }

    /// How much lighter than the mean a source is that has had `own` RPCs and gets another: from 0,
    /// not lighter, to [`LIGHTEST`].
    const fn lightness(self, own: u32) -> u32 {
        let expected = self.rpcs + 1;
        let had = (own + 1).saturating_mul(self.sources);
        expected.saturating_sub(had) * LIGHTEST / expected
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Tenant {
    now: Had,
    before: Had,
    /// The part of all RPCs that it may have, of [`WHOLE`].
    share: u32,
}

impl Tenant {
    const fn had(&self) -> Had {
        self.now.and(self.before)
    }
}

const WHOLE: u32 = 1 << 16;
const LIGHTEST: u32 = 256;

/// The RPCs that the tenants of a queue have had.
#[derive(Clone, Debug)]
pub(super) struct Shares {
    tenants: Tenants,
    of: Box<[Tenant]>,
    /// RPCs of this round and the one before.
    now: u32,
    before: u32,
}

impl Shares {
    pub(super) fn new(tenants: Tenants) -> Self {
        let of = alloc::vec![Tenant::default(); 1 << tenants.bits()].into();
        let mut shares = Self { tenants, of, now: 0, before: 0 };
        shares.share_out();
        shares
    }

    /// Counts RPCs of a source that has had `own` others, and is or is not new in this round.
    pub(super) fn count(&mut self, snid: NodeId, rpcs: u32, (own, is_new): (u32, bool)) {
        let tenant = &mut self.of[self.tenants.of(snid)];
        tenant.now.sources += u32::from(is_new);
        tenant.now.lightness += rpcs * tenant.had().lightness(own);
        tenant.now.rpcs += rpcs;
        self.now += rpcs;
    }

    pub(super) fn end_round(&mut self) {
        self.share_out();
        (self.now, self.before) = (0, 0);
        for tenant in &mut self.of {
            tenant.before = tenant.before.halved_with(core::mem::take(&mut tenant.now));
            self.before += tenant.before.rpcs;
        }
    }

    /// Shares out the RPCs of two rounds: tenants that had less than their part by weight keep
    /// theirs, and the others share the rest.
    fn share_out(&mut self) {
        let Self { tenants, of, now, before } = self;
        let weight = |index: usize| tenants.weight(index);
        let mut is_light = [false; TENANTS_MAX];
        let (mut rest, mut weights) = (*now + *before, (0..of.len()).map(weight).sum::<u32>());
        let all = rest.max(1);
        // Each pass but the last finds another light tenant, and they can never all be light.
        while let Some(index) = (0..of.len()).find(|&i| !is_light[i] && of[i].had().rpcs * weights < rest * weight(i)) {
            is_light[index] = true;
            rest -= of[index].had().rpcs;
            weights -= weight(index);
        }
        for (index, tenant) in of.iter_mut().enumerate() {
            let share = u64::from(rest) * u64::from(weight(index)) * u64::from(WHOLE) / u64::from(weights * all);
            // If there was nothing, all have a part.
            tenant.share = u32::try_from(share).unwrap_or(u32::MAX).max(1);
        }
    }

    /// Whether a source with `own` RPCs may take one of `left` places of `kept` after `more`.
    ///
    /// It may if its tenant's RPCs relate to the tenant's share as the places left to those kept. A
    /// source lighter than the mean of the tenant's RPCs counts more places left, a heavier one
    /// fewer: so the tenant as a whole gains nothing from the mix of its sources.
    pub(super) fn is_light(&self, snid: NodeId, own: u32, more: u32, (left, kept): (u32, u32)) -> bool {
        if left > kept {
            return true;
        }
        let tenant = &self.of[self.tenants.of(snid)];
        let had = tenant.had();
        let mean = had.lightness / had.rpcs.max(1);
        let lightness = had.lightness(own + more);
        // In parts of a place.
        let left =
            i128::from(left) * i128::from(LIGHTEST) + i128::from(kept) * (i128::from(lightness) - i128::from(mean));
        let all = i128::from(self.now + self.before + more);
        let had = i128::from(had.rpcs + more) * i128::from(WHOLE);
        // had / share < left / kept
        had == 0 || had * i128::from(kept) * i128::from(LIGHTEST) < i128::from(tenant.share) * all * left
    }
}
