//! The table of regions and a list of registrations, and the operations that drive both.

use arbitrary::Arbitrary;
use nebula_nic::{
    Access, AccessKind, AccessRefusal, BLOCK_BYTES, DomainId, RegionError, RegionId, RegionTable, RegionWindow,
    Registration, Rights,
};

#[derive(Clone, Copy, Debug, Arbitrary)]
pub enum Op {
    /// All rights except the bits in `without`.
    Register { domain: bool, base: Number, bytes: Number, without: Option<u8> },
    /// One of these four.
    Revoke { nth: u8 },
    Access {
        domain: bool,
        /// One of the latest registrations, or rarely `any`.
        region: u8,
        any: u32,
        kind: Kind,
        at: Number,
        bytes: u8,
    },
}

#[derive(Clone, Copy, Debug, Arbitrary)]
pub enum Kind {
    Read,
    Whole { version_at: Number },
    Write,
    CompareSwap { expected: u8, desired: u8 },
}

/// Mostly small, sometimes close to the 64-bit limit.
#[derive(Clone, Copy, Debug, Arbitrary)]
pub enum Number {
    Small(u8),
    Words(u8),
    BelowEnd(u8),
    Any(u64),
}

impl Number {
    pub fn value(self) -> u64 {
        match self {
            Self::Small(value) => value.into(),
            Self::Words(words) => u64::from(words) * 8,
            Self::BelowEnd(less) => u64::MAX - u64::from(less),
            Self::Any(value) => value,
        }
    }
}

/// Table and list.
#[derive(Clone)]
pub struct Pair {
    table: RegionTable,
    max: u16,
    /// All registrations ever; `None` for revoked ones.
    given: Vec<(RegionId, Option<Registration>)>,
}

impl Pair {
    pub fn new(max: u16) -> Self {
        Self { table: RegionTable::new(max), max, given: Vec::new() }
    }

    /// Applies it to both; the window of an allowed operation.
    pub fn apply(&mut self, op: Op) -> Option<(Access, RegionWindow)> {
        match op {
            Op::Register { domain, base, bytes, without } => {
                let (base, bytes) = (base.value(), bytes.value());
                let rights = Rights::from_bits(!without.unwrap_or(0));
                let registration = Registration { domain: DomainId(domain.into()), base, bytes, rights };
                self.register(registration);
                None
            }
            Op::Revoke { nth } => {
                let place = self.recent(nth / 4).filter(|_| nth.is_multiple_of(4))?;
                let (id, registration) = &mut self.given[place];
                assert_eq!(self.table.revoke(*id), registration.take().is_some());
                None
            }
            Op::Access { domain, region, any, kind, at, bytes } => {
                let recent = self.recent(region).filter(|_| region < 240);
                let region = recent.map_or(RegionId(any), |place| self.given[place].0);
                let kind = match kind {
                    Kind::Read => AccessKind::Read { version_at: None },
                    Kind::Whole { version_at } => AccessKind::Read { version_at: Some(version_at.value()) },
                    Kind::Write => AccessKind::Write,
                    Kind::CompareSwap { expected, desired } => {
                        AccessKind::CompareSwap { expected: expected.into(), desired: desired.into() }
                    }
                };
                self.decide(
                    DomainId(domain.into()),
                    Access { kind, region, at: at.value(), bytes: u32::from(bytes) % 80 },
                )
            }
        }
    }

    /// One of the last eight registrations.
    fn recent(&self, nth: u8) -> Option<usize> {
        let last = self.given.len().checked_sub(1)?;
        Some(last - usize::from(nth) % (last + 1).min(8))
    }

    fn register(&mut self, registration: Registration) {
        let Registration { base, bytes, .. } = registration;
        let live = self.given.iter().filter(|given| given.1.is_some()).count();
        let is_possible = base % 8 == 0 && u128::from(base) + u128::from(bytes) <= u128::from(u64::MAX);
        match self.table.register(registration) {
            Ok(id) => {
                assert!(is_possible && live < usize::from(self.max));
                assert!(self.given.iter().all(|given| given.0 != id), "{id} was given before");
                self.given.push((id, Some(registration)));
            }
            Err(RegionError::Full { max }) => assert!(is_possible && live == usize::from(max)),
            Err(_) => assert!(!is_possible),
        }
    }

    fn decide(&self, domain: DomainId, access: Access) -> Option<(Access, RegionWindow)> {
        let decided = self.table.decide(domain, &access);
        let expected = self.expected(domain, &access);
        assert_eq!(decided.map(drop), expected, "{access:?}");
        let window = decided.ok()?;
        // Byte by byte: none of them is outside.
        let region = self.live(access.region).expect("it was found above");
        let inside = u128::from(region.base)..u128::from(region.base) + u128::from(region.bytes);
        let all =
            |from: u64, bytes: u32| (0..bytes).all(|byte| inside.contains(&(u128::from(from) + u128::from(byte))));
        assert!(all(window.offset, window.bytes) && window.version.is_none_or(|version| all(version, 8)));
        assert_eq!((window.offset - region.base, window.bytes), (access.at, access.bytes));
        Some((access, window))
    }

    fn live(&self, id: RegionId) -> Option<Registration> {
        self.given.iter().find(|given| given.0 == id)?.1
    }

    fn expected(&self, domain: DomainId, access: &Access) -> Result<(), AccessRefusal> {
        let region = self.live(access.region).ok_or(AccessRefusal::Unknown)?;
        let (reads, writes, words) = match access.kind {
            AccessKind::Read { version_at: Some(at) } => (true, false, vec![(at, 8)]),
            AccessKind::CompareSwap { .. } => (true, true, vec![(access.at, access.bytes)]),
            AccessKind::Write => (false, true, Vec::new()),
            _ => (true, false, Vec::new()),
        };
        let lacks = |needed: bool, right: Rights| needed && !region.rights.has(right);
        let end = |at: u64, bytes: u32| u128::from(at) + u128::from(bytes);
        let ranges = words.iter().copied().chain([(access.at, access.bytes)]);
        if region.domain != domain {
            Err(AccessRefusal::Domain)
        } else if lacks(reads, Rights::READ) || lacks(writes, Rights::WRITE) {
            Err(AccessRefusal::Rights)
        } else if access.bytes > BLOCK_BYTES {
            Err(AccessRefusal::TooLong)
        } else if words.iter().any(|&(at, bytes)| at % 8 != 0 || bytes != 8) {
            Err(AccessRefusal::Unaligned)
        } else if ranges.into_iter().any(|(at, bytes)| end(at, bytes) > u128::from(region.bytes)) {
            Err(AccessRefusal::Bounds)
        } else {
            Ok(())
        }
    }
}
