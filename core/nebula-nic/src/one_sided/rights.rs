//! The rights of clients to a region.

use core::ops::BitOr;

/// The rights of clients to a region.
///
/// # Examples
///
/// ```
/// use nebula_nic::Rights;
///
/// let rights = Rights::READ | Rights::MAP;
/// assert!(rights.has(Rights::READ) && !rights.has(Rights::READ | Rights::WRITE));
/// assert_eq!(rights.to_string(), "read, map");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rights(u8);

impl Rights {
    /// None: every operation is refused.
    pub const NONE: Self = Self(0);
    /// Reads.
    pub const READ: Self = Self(1);
    /// Writes; with [`READ`](Self::READ), compare-and-swap too, which returns the old word.
    pub const WRITE: Self = Self(2);
    /// Clients on the same machine may map the memory, and then need no engine. Mapped memory
    /// cannot be revoked.
    pub const MAP: Self = Self(4);

    /// The rights with these bits; unknown bits are ignored.
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits & 7)
    }

    /// The bits of the rights.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Whether it includes all of `others`.
    #[must_use]
    pub const fn has(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }
}

impl BitOr for Rights {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl core::fmt::Display for Rights {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let mut separator = "";
        for (right, name) in [(Self::READ, "read"), (Self::WRITE, "write"), (Self::MAP, "map")] {
            if self.has(right) {
                write!(f, "{separator}{name}")?;
                separator = ", ";
            }
        }
        if self.0 == 0 { f.write_str("none") } else { Ok(()) }
    }
}
