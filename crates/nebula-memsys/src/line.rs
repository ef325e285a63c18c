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

/// From the low end: way 4 bits, label 3, holder 10, dirty 1, dirtied by the NIC 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Meta(pub(crate) u32);

const WAY_MASK: u32 = 0xf;
const LABEL_SHIFT: u32 = 4;
const LABEL_MASK: u32 = 7 << LABEL_SHIFT;
const HOLDER_SHIFT: u32 = 7;
const HOLDER_MASK: u32 = 0x3ff << HOLDER_SHIFT;
const DIRTY: u32 = 1 << 17;
const BY_NIC: u32 = 1 << 18;

/// Holder codes above every core.
const NOBODY: u32 = 0x3ff;
const SEVERAL: u32 = 0x3fe;
const NIC: u32 = 0x3fd;

const _: () = assert!(crate::block::LABELS == 8 && crate::config::WAYS_MAX == WAY_MASK + 1);
const _: () = assert!((crate::config::CORES_MAX as u32) < NIC);

impl Meta {
    /// A clean line in way `way` without a holder.
    #[expect(clippy::cast_possible_truncation, reason = "there are at most sixteen ways")]
    pub(crate) const fn empty(way: usize) -> Self {
        Self((way as u32 & WAY_MASK) | (NOBODY << HOLDER_SHIFT))
    }

    pub(crate) const fn way(self) -> usize {
        (self.0 & WAY_MASK) as usize
    }

    /// The label of the last write; meaningless on a clean line.
    pub(crate) const fn label(self) -> Label {
        Label(((self.0 & LABEL_MASK) >> LABEL_SHIFT) as u8)
    }

    /// The agent that dirtied the line; `None` if it is clean.
    pub(crate) const fn writer(self) -> Option<Writer> {
        match (self.0 & DIRTY != 0, self.0 & BY_NIC != 0) {
            (false, _) => None,
            (true, false) => Some(Writer::Core),
            (true, true) => Some(Writer::Nic),
        }
    }

    pub(crate) fn dirty(&mut self, writer: Writer, label: Label) {
        let by = if writer == Writer::Nic { DIRTY | BY_NIC } else { DIRTY };
        self.0 = (self.0 & !(LABEL_MASK | BY_NIC)) | (label.code() << LABEL_SHIFT) | by;
    }

    #[expect(clippy::cast_possible_truncation, reason = "ten bits")]
    pub(crate) const fn holder(self) -> Holder {
        match (self.0 & HOLDER_MASK) >> HOLDER_SHIFT {
            NOBODY => Holder::Nobody,
            SEVERAL => Holder::Several,
            NIC => Holder::Nic,
            core => Holder::Core(core as u16),
        }
    }

    pub(crate) fn hold(&mut self, holder: Holder) {
        let code = match holder {
            Holder::Nobody => NOBODY,
            Holder::Several => SEVERAL,
            Holder::Nic => NIC,
            Holder::Core(core) => u32::from(core),
        };
        self.0 = (self.0 & !HOLDER_MASK) | (code << HOLDER_SHIFT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_is_kept_while_the_others_change() {
        let mut meta = Meta::empty(15);
        assert_eq!((meta.way(), meta.writer(), meta.holder()), (15, None, Holder::Nobody));
        meta.dirty(Writer::Nic, Label(7));
        meta.hold(Holder::Core(999));
        assert_eq!((meta.way(), meta.writer(), meta.label()), (15, Some(Writer::Nic), Label(7)));
        meta.dirty(Writer::Core, Label(2));
        assert_eq!((meta.holder(), meta.writer(), meta.label()), (Holder::Core(999), Some(Writer::Core), Label(2)));
        for holder in [Holder::Nobody, Holder::Several, Holder::Nic, Holder::Core(0)] {
            meta.hold(holder);
            assert_eq!((meta.holder(), meta.label(), meta.way()), (holder, Label(2), 15));
        }
    }
}
