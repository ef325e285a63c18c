//! The receive region: memory slots, each with one owner at a time.
//!
//! The engine writes an RPC's payload into slots that it owns. If another thread is to read it
//! there, the slots are leased to that thread by a [`SlotLease`], which can move to another thread
//! but cannot be copied, and must come back before any of its slots is written again. Code that
//! reads a payload after its slots were freed does not compile. If the engine's own thread serves,
//! there is no lease: it [borrows the memory](RecvRegion::own).

use crate::{
    copy::load_bytes,
    mem::{MemError, Pages, WordRegion},
    sync::AtomicU64,
};
use std::ptr::NonNull;

/// Bytes per slot: one cache line.
pub const SLOT_BYTES: usize = 64;

/// The memory of a receive buffer, owned by the thread that leases it out.
///
/// # Examples
///
/// ```
/// use nebula_sys::{mem::Pages, region::RecvRegion, sync::AtomicU64};
/// let mut region = RecvRegion::new(16, Pages::Base)?;
/// let packet = [const { AtomicU64::new(u64::from_le_bytes(*b"payload!")) }];
/// region.write(3, 0, &packet, 8);
/// let lease = region.lease(3, 1).expect("slot 3 is free");
/// assert_eq!(lease.payload(8), b"payload!");
/// assert!(region.lease(3, 1).is_none() && region.own().is_none(), "one owner at a time");
/// region.release(lease);
/// assert!(region.own().is_some_and(|memory| memory[3 * 64..].starts_with(b"payload!")));
/// # Ok::<(), nebula_sys::mem::MemError>(())
/// ```
#[derive(Debug)]
pub struct RecvRegion {
    memory: std::mem::ManuallyDrop<WordRegion>,
    base: NonNull<u8>,
    slots: u32,
    leased: Box<[u64]>,
    leases: usize,
}

// SAFETY: the region owns its memory; leases are `Send` for reasons stated at `SlotLease`.
unsafe impl Send for RecvRegion {}

impl RecvRegion {
    /// Maps a region of `slots` slots of 64 bytes, zero-filled.
    ///
    /// # Errors
    ///
    /// [`MemError`] as [`WordRegion::new`].
    pub fn new(slots: u32, want: Pages) -> Result<Self, MemError> {
        let memory = WordRegion::new(slots as usize * SLOT_BYTES / 8, want)?;
        // Derived from the whole slice, so that the pointer may reach every slot.
        let base = NonNull::from(memory.words()).cast();
        let leased = vec![0; (slots as usize).div_ceil(64)].into_boxed_slice();
        Ok(Self { memory: std::mem::ManuallyDrop::new(memory), base, slots, leased, leases: 0 })
    }

    /// Leases `slots` slots from `start` on, or returns `None` if any of them is outside the region
    /// or already leased.
    ///
    /// # Cost
    ///
    /// O(slots / 64), no allocation.
    #[inline(always)]
    pub fn lease(&mut self, start: u32, slots: u32) -> Option<SlotLease> {
        let end = start.checked_add(slots).filter(|&end| end <= self.slots && slots > 0)?;
        if !self.try_set(start, end) {
            return None;
        }
        self.leases += 1;
        // SAFETY: `start` is below `self.slots`, so the offset stays inside the mapping.
        let base = unsafe { self.base.add(start as usize * SLOT_BYTES) };
        Some(SlotLease { base, start, slots })
    }

    /// Takes a lease back, so that its slots can be leased again.
    ///
    /// # Panics
    ///
    /// When the lease belongs to another region.
    ///
    /// # Cost
    ///
    /// O(slots / 64), no allocation.
    #[inline]
    pub fn release(&mut self, lease: SlotLease) {
        let SlotLease { base, start, slots } = lease;
        let own = self.base.as_ptr() as usize + start as usize * SLOT_BYTES == base.as_ptr() as usize;
        assert!(own && start + slots <= self.slots, "a lease was returned to another region than its own");
        self.clear(start, start + slots);
        self.leases -= 1;
    }

    /// Copies `bytes` bytes from memory that a peer may be changing to `offset` bytes behind the
    /// start of slot `start`.
    ///
    /// # Panics
    ///
    /// When the range is not within the region, when one of its slots is leased, or when `src` is
    /// shorter than `bytes`.
    ///
    /// # Cost
    ///
    /// O(bytes / 16), and O(slots / 64) to check for leases if there are any.
    #[inline]
    pub fn write(&mut self, start: u32, offset: usize, src: &[AtomicU64], bytes: usize) {
        load_bytes(src, self.unleased(start, offset, bytes));
    }

    /// As [`write`](Self::write), from private bytes.
    ///
    /// # Panics
    ///
    /// As `write`.
    #[inline]
    pub fn write_bytes(&mut self, start: u32, offset: usize, src: &[u8]) {
        self.unleased(start, offset, src.len()).copy_from_slice(src);
    }

    /// The first `bytes` bytes of slot `start` and those after it.
    ///
    /// # Panics
    ///
    /// When they are not within the region.
    #[inline]
    #[must_use]
    pub fn payload(&self, start: u32, bytes: usize) -> &[u8] {
        &self.payload_from(start)[..bytes]
    }

    /// All bytes from slot `start` on.
    ///
    /// # Panics
    ///
    /// When there is no such slot.
    #[inline]
    #[must_use]
    pub fn payload_from(&self, start: u32) -> &[u8] {
        let all = self.slots as usize * SLOT_BYTES;
        // SAFETY: the memory is mapped and initialized, and written only through `&mut self`;
        // leases are only read.
        let all = unsafe { std::slice::from_raw_parts(self.base.as_ptr(), all) };
        &all[start as usize * SLOT_BYTES..]
    }

    /// The whole memory, while no slot is leased.
    #[inline]
    #[must_use]
    pub fn own(&mut self) -> Option<&mut [u8]> {
        if self.leases > 0 {
            return None;
        }
        let all = self.slots as usize * SLOT_BYTES;
        // SAFETY: the memory is mapped and initialized, no lease points into it, and the region is
        // borrowed mutably.
        Some(unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr(), all) })
    }

    /// `bytes` bytes at `offset` behind the start of slot `start`. Panics if one of them is leased.
    #[inline(always)]
    fn unleased(&mut self, start: u32, offset: usize, bytes: usize) -> &mut [u8] {
        let from = start as usize * SLOT_BYTES + offset;
        let end = from.checked_add(bytes).filter(|&end| end <= self.slots as usize * SLOT_BYTES);
        let end = end.expect("a payload lies within the region");
        #[expect(clippy::cast_possible_truncation, reason = "a slot of the region")]
        let (first, last) = ((from / SLOT_BYTES) as u32, end.div_ceil(SLOT_BYTES) as u32);
        assert!(self.leases == 0 || !self.is_any_leased(first, last), "a slot is written while it is leased");
        // SAFETY: the bytes are within the mapping and initialized; no lease reaches them, and the
        // region is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr().add(from), bytes) }
    }

    fn is_any_leased(&self, start: u32, end: u32) -> bool {
        start < end && masks(start, end).any(|(index, mask)| self.leased[index] & mask != 0)
    }

    /// Leases not yet returned.
    #[must_use]
    pub fn leases(&self) -> usize {
        self.leases
    }

    /// Bytes of the region.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.slots as usize * SLOT_BYTES
    }

    /// The pages that were granted.
    #[must_use]
    pub fn pages(&self) -> Pages {
        self.memory.pages()
    }

    /// Sets the bits `start..end` unless one of them is set.
    #[inline(always)]
    fn try_set(&mut self, start: u32, end: u32) -> bool {
        if let Some((index, mask)) = one_word(start, end) {
            let word = &mut self.leased[index];
            let is_free = *word & mask == 0;
            *word |= if is_free { mask } else { 0 };
            return is_free;
        }
        let is_free = masks(start, end).all(|(index, mask)| self.leased[index] & mask == 0);
        if is_free {
            masks(start, end).for_each(|(index, mask)| self.leased[index] |= mask);
        }
        is_free
    }

    #[inline(always)]
    fn clear(&mut self, start: u32, end: u32) {
        if let Some((index, mask)) = one_word(start, end) {
            self.leased[index] &= !mask;
        } else {
            masks(start, end).for_each(|(index, mask)| self.leased[index] &= !mask);
        }
    }
}

impl Drop for RecvRegion {
    fn drop(&mut self) {
        // A lease that is out may be read at any later time, so the memory then stays mapped.
        if self.leases == 0 {
            // SAFETY: dropped once, here, and no lease points into it any more.
            unsafe { std::mem::ManuallyDrop::drop(&mut self.memory) };
        }
    }
}

/// The word of a bitvector that holds all bits `start..end`, with their mask, if one word does.
#[inline(always)]
fn one_word(start: u32, end: u32) -> Option<(usize, u64)> {
    let (index, from, slots) = (start / 64, start % 64, end - start);
    (from + slots <= 64).then(|| (index as usize, (u64::MAX >> (64 - slots)) << from))
}

/// The words of a bitvector that hold bits `start..end`, each with the mask of those bits.
#[inline]
fn masks(start: u32, end: u32) -> impl Iterator<Item = (usize, u64)> {
    (start / 64..end.div_ceil(64)).map(move |word| {
        let from = start.saturating_sub(word * 64);
        let to = (end - word * 64).min(64);
        (word as usize, (u64::MAX >> (64 - (to - from))) << from)
    })
}

/// Sole ownership of a range of slots; give it back with [`RecvRegion::release`].
///
/// Dropping a lease instead leaks its slots: the region never reuses them.
#[derive(Debug)]
#[must_use = "slots whose lease is dropped are never reused"]
pub struct SlotLease {
    base: NonNull<u8>,
    start: u32,
    slots: u32,
}

// SAFETY: the lease is the only access to its slots, and memory with a single owner can move
// between threads.
unsafe impl Send for SlotLease {}

impl SlotLease {
    /// The first slot.
    #[inline]
    #[must_use]
    pub fn start(&self) -> u32 {
        self.start
    }

    /// How many slots.
    #[inline]
    #[must_use]
    pub fn slots(&self) -> u32 {
        self.slots
    }

    /// The first `bytes` bytes.
    ///
    /// # Panics
    ///
    /// When the slots hold fewer bytes.
    #[inline]
    #[must_use]
    pub fn payload(&self, bytes: usize) -> &[u8] {
        // SAFETY: the slots are mapped and initialized (zero-filled at the start); the region
        // writes no leased slot, and leases are only read.
        let all = unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.slots as usize * SLOT_BYTES) };
        &all[..bytes]
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_slot_has_one_owner_at_a_time() {
        let mut region = RecvRegion::new(200, Pages::Base).unwrap();
        let middle = region.lease(60, 70).unwrap();
        for (start, slots) in [(60, 1), (129, 1), (0, 61), (129, 71), (0, 200), (64, 64)] {
            assert!(region.lease(start, slots).is_none(), "{start}+{slots} overlaps 60+70");
        }
        let before = region.lease(0, 60).unwrap();
        let after = region.lease(130, 70).unwrap();
        assert_eq!(region.leases(), 3);
        for lease in [middle, before, after] {
            region.release(lease);
        }
        let whole = region.lease(0, 200).unwrap();
        region.release(whole);
    }

    #[test]
    fn ranges_outside_the_region_are_refused() {
        let mut region = RecvRegion::new(8, Pages::Base).unwrap();
        for (start, slots) in [(8, 1), (7, 2), (0, 9), (u32::MAX, 2), (3, 0)] {
            assert!(region.lease(start, slots).is_none());
        }
    }

    #[test]
    fn leases_of_neighbours_do_not_see_each_other() {
        let mut region = RecvRegion::new(4, Pages::Base).unwrap();
        region.write_bytes(1, 0, &[1; 64]);
        let one = region.lease(1, 1).unwrap();
        region.write_bytes(2, 0, &[2; 64]);
        let two = region.lease(2, 1).unwrap();
        let reader = std::thread::spawn(move || (one.payload(64) == [1; 64], one));
        assert_eq!(two.payload(64), [2; 64]);
        let (whole, one) = reader.join().unwrap();
        assert!(whole);
        region.release(one);
        region.release(two);
        assert_eq!(region.lease(0, 4).unwrap().payload(64), [0; 64]);
    }

    #[test]
    #[should_panic(expected = "while it is leased")]
    fn a_leased_slot_is_not_written() {
        let mut region = RecvRegion::new(4, Pages::Base).unwrap();
        let _lease = region.lease(2, 1).unwrap();
        region.write_bytes(1, 0, &[1; 64]);
        region.write_bytes(1, 60, &[1; 5]);
    }

    #[test]
    fn the_memory_is_lent_whole_while_nothing_is_leased() {
        let mut region = RecvRegion::new(4, Pages::Base).unwrap();
        let lease = region.lease(0, 1).unwrap();
        assert!(region.own().is_none());
        region.release(lease);
        region.own().unwrap()[64] = 5;
        assert_eq!(region.payload(1, 1), [5]);
    }

    #[test]
    #[should_panic(expected = "another region")]
    fn a_lease_of_another_region_is_a_callers_mistake() {
        let mut one = RecvRegion::new(4, Pages::Base).unwrap();
        let mut two = RecvRegion::new(4, Pages::Base).unwrap();
        let lease = one.lease(0, 1).unwrap();
        let _ours = two.lease(0, 1).unwrap();
        two.release(lease);
    }

    #[test]
    fn a_lease_outlives_its_region() {
        let mut region = RecvRegion::new(4, Pages::Base).unwrap();
        region.write_bytes(0, 0, &[9; 64]);
        let lease = region.lease(0, 1).unwrap();
        drop(region);
        assert_eq!(lease.payload(64), [9; 64]);
    }
}
