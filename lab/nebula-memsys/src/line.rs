//! A line's metadata in the last-level cache: one word, with the directory.

use crate::block::Label;

/// The L1s with a copy of a line, as far as one word can record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holder {
    Nobody,
    /// This core, or none if its L1 dropped the copy silently.
    Core(u16),
    /// Two cores or more; only their L1s know which.
    Several,
    /// The NIC's cache, with the only valid copy.
    Nic,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writer {
    Core,
    Nic,
}

/// From the low end: label 3 bits, holder 10, dirty 1, dirtied by the NIC 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Meta(u16);

const LABEL_MASK: u16 = 7;
const HOLDER_SHIFT: u32 = 3;
const HOLDER_MASK: u16 = 0x3ff << HOLDER_SHIFT;
const DIRTY: u16 = 1 << 13;
const BY_NIC: u16 = 1 << 14;

const NOBODY: u16 = 0x3ff;
const SEVERAL: u16 = 0x3fe;
const NIC: u16 = 0x3fd;

const _: () = assert!(crate::block::LABELS == 8 && crate::config::CORES_MAX < NIC);

impl Meta {
    pub(crate) const EMPTY: Self = Self(NOBODY << HOLDER_SHIFT);

    /// The label of the last write; meaningless on a clean line.
    #[inline(always)]
    pub(crate) const fn label(self) -> Label {
        Label((self.0 & LABEL_MASK) as u8)
    }

    /// The agent that dirtied the line; `None` if it is clean.
    #[inline(always)]
    pub(crate) const fn writer(self) -> Option<Writer> {
        match (self.0 & DIRTY != 0, self.0 & BY_NIC != 0) {
            (false, _) => None,
            (true, false) => Some(Writer::Core),
            (true, true) => Some(Writer::Nic),
        }
    }

    /// A line that only this core has, and has written.
    #[inline(always)]
    pub(crate) const fn owned(core: u16, label: Label) -> Self {
        Self(label.code() | (core << HOLDER_SHIFT) | DIRTY)
    }

    /// A line that the NIC has written, in its cache (`is_kept`) or in no agent's.
    #[inline(always)]
    pub(crate) const fn received(is_kept: bool, label: Label) -> Self {
        let holder = if is_kept { NIC } else { NOBODY };
        Self(label.code() | (holder << HOLDER_SHIFT) | DIRTY | BY_NIC)
    }

    #[inline(always)]
    pub(crate) const fn held(core: u16) -> Self {
        Self(core << HOLDER_SHIFT)
    }

    #[inline(always)]
    pub(crate) const fn holder(self) -> Holder {
        match (self.0 & HOLDER_MASK) >> HOLDER_SHIFT {
            NOBODY => Holder::Nobody,
            SEVERAL => Holder::Several,
            NIC => Holder::Nic,
            core => Holder::Core(core),
        }
    }

    #[inline(always)]
    pub(crate) fn hold(&mut self, holder: Holder) {
        let code = match holder {
            Holder::Nobody => NOBODY,
            Holder::Several => SEVERAL,
            Holder::Nic => NIC,
            Holder::Core(core) => core,
        };
        self.0 = (self.0 & !HOLDER_MASK) | (code << HOLDER_SHIFT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_is_kept_while_the_others_change() {
        assert_eq!((Meta::EMPTY.writer(), Meta::EMPTY.holder()), (None, Holder::Nobody));
        assert_eq!((Meta::held(999).writer(), Meta::held(999).holder()), (None, Holder::Core(999)));
        for (is_kept, holder) in [(true, Holder::Nic), (false, Holder::Nobody)] {
            let meta = Meta::received(is_kept, Label(7));
            assert_eq!((meta.writer(), meta.label(), meta.holder()), (Some(Writer::Nic), Label(7), holder));
        }
        let mut meta = Meta::owned(999, Label(2));
        assert_eq!((meta.writer(), meta.label(), meta.holder()), (Some(Writer::Core), Label(2), Holder::Core(999)));
        for holder in [Holder::Nobody, Holder::Several, Holder::Nic, Holder::Core(0)] {
            meta.hold(holder);
            assert_eq!((meta.holder(), meta.label(), meta.writer()), (holder, Label(2), Some(Writer::Core)));
        }
    }
}
