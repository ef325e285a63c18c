//! Next to the stations: *may this one-sided operation touch its memory, and where is that?*
//!
//! A remote read, write or compare-and-swap names a region that the server registered. It involves
//! no admission, slots, dispatch or worker: the NIC decides from its table of regions alone, and
//! either refuses or names the bytes. It never names bytes outside the region: this module checks
//! offsets that wrap, revoked regions, domains and rights.
//!
//! ```text
//! operation ─▶ known region? ─▶ its domain? ─▶ rights? ─▶ inside? ─▶ offset and length
//! ```
//!
//! # Source
//!
//! soNUMA (ASPLOS 2014): remote operations on cache blocks of a context's segment, which the NIC
//! checks. SABRes (MICRO 2016): a version word tells whether an object was read in one piece.
//!
//! Departs: a region is named by its number instead of by a context and a virtual address, so no
//! page table is walked.

mod access;
mod block;
mod rights;
mod table;

pub use access::{ACCESS_BYTES, Access, AccessKind, AccessRefusal};
pub use block::BLOCK_BYTES;
pub use rights::Rights;
pub use table::{REGIONS_MAX, RegionError, RegionId, RegionTable, RegionWindow, Registration};
