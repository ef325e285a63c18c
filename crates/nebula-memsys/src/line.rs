//! The metadata of a line in the last-level cache: one word, directory included.

use crate::block::Label;

/// Which L1s have a copy of a line, as far as one word can record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holder {
    /// No L1 and not the NIC's cache.
    Nobody,
    /// This core, or none if its L1 has dropped the copy silently.
    Core(u16),
    /// Two cores or more; only their L1s know which.
    Several,
    /// The NIC's cache, with the only valid copy.
    Nic,
}

/// The last writer of a line.
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

/// Holder codes above every core.
const NOBODY: u16 = 0x3ff;
const SEVERAL: u16 = 0x3fe;
const NIC: u16 = 0x3fd;

const _: () = assert!(crate::block::LABELS == 8 && crate::config::CORES_MAX < NIC);

impl Meta {
    /// A clean line without a holder.
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

    #[inline(always)]
    pub(crate) fn dirty(&mut self, writer: Writer, label: Label) {
        let by = if writer == Writer::Nic { DIRTY | BY_NIC } else { DIRTY };
        self.0 = (self.0 & !(LABEL_MASK | BY_NIC)) | label.code() | by;
    }

    /// A core is the only holder and the last writer.
    #[inline(always)]
    pub(crate) fn own(&mut self, core: u16, label: Label) {
        self.0 = label.code() | (core << HOLDER_SHIFT) | DIRTY;
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
        let mut meta = Meta::EMPTY;
        assert_eq!((meta.writer(), meta.holder()), (None, Holder::Nobody));
        meta.dirty(Writer::Nic, Label(7));
        meta.hold(Holder::Core(999));
        assert_eq!((meta.writer(), meta.label(), meta.holder()), (Some(Writer::Nic), Label(7), Holder::Core(999)));
        meta.dirty(Writer::Core, Label(2));
        assert_eq!((meta.writer(), meta.label(), meta.holder()), (Some(Writer::Core), Label(2), Holder::Core(999)));
        for holder in [Holder::Nobody, Holder::Several, Holder::Nic, Holder::Core(0)] {
            meta.hold(holder);
            assert_eq!((meta.holder(), meta.label(), meta.writer()), (holder, Label(2), Some(Writer::Core)));
        }
    }
}
