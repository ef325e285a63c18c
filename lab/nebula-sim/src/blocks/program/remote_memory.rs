//! Memory that other nodes read and write: what the NIC does for each operation. Cores idle.

use super::super::BlocksError;
use super::super::application::RemoteMemory;
use super::super::map::{Layout, Part};
use super::{Compiled, Regions, Remote, RpcType, check_bytes};
use nebula_nic::{SLOT_BYTES, Span};

/// Bytes of an operation without its data (region, offset, length, number), as in the runtime.
pub(super) const OPERATION_BYTES: u32 = 32;

/// From a client's read to its next, dependent one: assumed to be a round trip in the rack.
pub(super) const ROUND_TRIP: Span = Span::from_us(2);

impl Compiled {
    pub(super) fn remote_memory(memory: &RemoteMemory, layout: &mut Layout) -> Result<Self, BlocksError> {
        check_bytes("object_bytes", memory.object_bytes)?;
        if memory.objects == 0 {
            return Err(BlocksError::Parameter { name: "objects", got: 0.0, least: 1.0, most: u32::MAX.into() });
        }
        let blocks = memory.object_bytes.div_ceil(SLOT_BYTES);
        let kind = |share, request_bytes, reply_bytes, remote: Remote| RpcType {
            share,
            request_bytes,
            reply_bytes,
            steps: Box::default(),
            remote: [remote].into(),
            copies: 1,
            answer: None,
        };
        let read = kind(memory.read_share, OPERATION_BYTES, memory.object_bytes, Remote::Read(Part::Log, blocks));
        let sent = OPERATION_BYTES + memory.object_bytes;
        let write = kind(1.0 - memory.read_share, sent, OPERATION_BYTES, Remote::Write(Part::Log, blocks));
        let log = layout.region("the memory of others", u64::from(memory.objects) * u64::from(blocks))?;
        let regions = Regions { log, ..Regions::default() };
        Ok(Self { types: vec![read, write], regions, item_blocks: blocks, is_appended: false })
    }
}
