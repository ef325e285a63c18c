//! The regions of a server, and the decision about one operation.

use super::access::{Access, AccessKind, AccessRefusal};
use super::block::BLOCK_BYTES;
use super::rights::Rights;
use crate::id::DomainId;
use alloc::vec::Vec;

/// The most regions that one table can have.
pub const REGIONS_MAX: u16 = 1024;

/// The name of a registration: its place in the low 16 bits, above them how often the place was
/// used before. So the first region of a server is 0, the next one 1, and a revoked name returns
/// only after its place was used 65,536 times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RegionId(pub u32);

impl core::fmt::Display for RegionId {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.0.fmt(f)
    }
}

impl RegionId {
    /// Its place in the table.
    #[must_use]
    pub const fn place(self) -> usize {
        (self.0 & 0xFFFF) as usize
    }
}

/// The memory that a server registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registration {
    /// The messaging domain whose clients may use it.
    pub domain: DomainId,
    /// Where it begins in the memory that contains it, in bytes; a multiple of 8.
    pub base: u64,
    /// Its length, in bytes.
    pub bytes: u64,
    /// The rights of clients.
    pub rights: Rights,
}

/// A region that cannot be registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegionError {
    /// The table is full.
    #[error("a server has at most {max} regions: revoke one first, or register larger ones")]
    Full {
        /// The most regions.
        max: u16,
    },
    /// The base is no multiple of 8, or the end does not fit 64 bits.
    #[error("a region of {bytes} bytes at {base} is impossible: the base is a multiple of 8, and its end below 2^64")]
    Place {
        /// Where it would begin.
        base: u64,
        /// Its length.
        bytes: u64,
    },
}

/// The bytes of an operation, counted from the beginning of the memory that contains its region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegionWindow {
    /// The first byte.
    pub offset: u64,
    /// How many.
    pub bytes: u32,
    /// The first byte of the version word, if there is one.
    pub version: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    registration: Registration,
    generation: u16,
    is_live: bool,
}

/// The regions that a server has registered. Cost: a decision is a few comparisons for any number
/// of regions. Nothing is allocated after construction.
///
/// # Invariants
///
/// - A [`RegionWindow`] lies within the region that the operation named, and so does its version
///   word.
/// - A revoked id stays refused, also when another region uses its place.
///
/// # Examples
///
/// ```
/// use nebula_nic::{Access, AccessKind, AccessRefusal, DomainId, Registration, RegionTable, Rights, RegionWindow};
///
/// let mut table = RegionTable::new(4);
/// let domain = DomainId(0);
/// let region = table.register(Registration { domain, base: 4096, bytes: 1024, rights: Rights::READ })?;
/// let read = Access { kind: AccessKind::Read { version_at: None }, region, at: 960, bytes: 64 };
/// assert_eq!(table.decide(domain, &read), Ok(RegionWindow { offset: 5056, bytes: 64, version: None }));
/// assert_eq!(table.decide(domain, &Access { at: 961, ..read }), Err(AccessRefusal::Bounds));
/// table.revoke(region);
/// assert_eq!(table.decide(domain, &read), Err(AccessRefusal::Unknown));
/// # Ok::<(), nebula_nic::RegionError>(())
/// ```
#[derive(Clone, Debug)]
pub struct RegionTable {
    entries: Vec<Entry>,
    max: u16,
}

impl RegionTable {
    /// A table with room for `max` regions, at most [`REGIONS_MAX`].
    #[must_use]
    pub fn new(max: u16) -> Self {
        let max = max.min(REGIONS_MAX);
        Self { entries: Vec::with_capacity(max.into()), max }
    }

    /// Registers a region, at the first free place.
    ///
    /// # Errors
    ///
    /// [`RegionError`]: the table is full, or the region is impossible.
    pub fn register(&mut self, registration: Registration) -> Result<RegionId, RegionError> {
        let Registration { base, bytes, .. } = registration;
        if !base.is_multiple_of(8) || base.checked_add(bytes).is_none() {
            return Err(RegionError::Place { base, bytes });
        }
        let free = self.entries.iter().position(|entry| !entry.is_live);
        let (place, generation) = match free {
            Some(place) => (place, self.entries[place].generation),
            None if self.entries.len() < usize::from(self.max) => (self.entries.len(), 0),
            None => return Err(RegionError::Full { max: self.max }),
        };
        let entry = Entry { registration, generation, is_live: true };
        match self.entries.get_mut(place) {
            Some(before) => *before = entry,
            None => self.entries.push(entry),
        }
        #[expect(clippy::cast_possible_truncation, reason = "below REGIONS_MAX")]
        Ok(RegionId(u32::from(generation) << 16 | place as u32))
    }

    /// Refuses all further operations on `id`. Returns whether it was registered.
    pub fn revoke(&mut self, id: RegionId) -> bool {
        let Some(entry) = self.entries.get_mut(id.place()).filter(|entry| entry.is_named(id)) else { return false };
        entry.is_live = false;
        entry.generation = entry.generation.wrapping_add(1);
        true
    }

    /// The registration of `id`, unless it was revoked.
    #[must_use]
    pub fn registration(&self, id: RegionId) -> Option<Registration> {
        self.entries.get(id.place()).filter(|entry| entry.is_named(id)).map(|entry| entry.registration)
    }

    /// Decides about an operation of a client of `domain`.
    ///
    /// # Errors
    ///
    /// [`AccessRefusal`], the first of: unknown, domain, rights, too long, unaligned, bounds.
    #[inline]
    pub fn decide(&self, domain: DomainId, access: &Access) -> Result<RegionWindow, AccessRefusal> {
        let region = self.registration(access.region).ok_or(AccessRefusal::Unknown)?;
        if region.domain != domain {
            return Err(AccessRefusal::Domain);
        }
        if !region.rights.has(access.rights()) {
            return Err(AccessRefusal::Rights);
        }
        if access.bytes > BLOCK_BYTES {
            return Err(AccessRefusal::TooLong);
        }
        let version_at = match access.kind {
            AccessKind::Read { version_at } => version_at,
            AccessKind::CompareSwap { .. } if access.bytes != 8 || !access.at.is_multiple_of(8) => {
                return Err(AccessRefusal::Unaligned);
            }
            AccessKind::CompareSwap { .. } | AccessKind::Write => None,
        };
        if version_at.is_some_and(|at| !at.is_multiple_of(8)) {
            return Err(AccessRefusal::Unaligned);
        }
        let version = match version_at {
            Some(at) => Some(region.place(at, 8)?),
            None => None,
        };
        Ok(RegionWindow { offset: region.place(access.at, access.bytes.into())?, bytes: access.bytes, version })
    }
}

impl Registration {
    #[inline]
    fn place(&self, at: u64, bytes: u64) -> Result<u64, AccessRefusal> {
        let is_inside = at <= self.bytes && bytes <= self.bytes - at;
        // No overflow: the end of the region is below 2^64.
        if is_inside { Ok(self.base + at) } else { Err(AccessRefusal::Bounds) }
    }
}

impl Entry {
    #[inline]
    const fn is_named(&self, id: RegionId) -> bool {
        self.is_live && id.0 >> 16 == self.generation as u32
    }
}
