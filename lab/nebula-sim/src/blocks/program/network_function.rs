//! A network function: a packet, some state that depends on it, and the packet again.

use super::super::BlocksError;
use super::super::application::NetworkFunction;
use super::super::map::{Layout, Part};
use super::{Compiled, Copying, Fill, Place, Regions, RpcType, Step, check_bytes};
use nebula_nic::SLOT_BYTES;

impl Compiled {
    pub(super) fn network_function(function: &NetworkFunction, layout: &mut Layout) -> Result<Self, BlocksError> {
        check_bytes("packet_bytes", function.packet_bytes)?;
        let reads = function.state_reads.min(64);
        let state = |block| Place::of(Part::State, block);
        let mut steps = vec![Step::Read(Place::of(Part::Payload, 0)), Step::LookAhead];
        steps.extend((0..reads).map(|read| Step::Read(state(read))));
        steps.push(Step::Draw(Box::new(function.service.clone())));
        steps.extend((0..function.state_writes.min(reads)).map(|write| Step::Write(state(write), Fill::Fetched)));
        let blocks = function.packet_bytes.div_ceil(SLOT_BYTES);
        let stores = (0..blocks).map(|block| (block, Fill::Whole)).collect();
        steps.push(Step::Copy(Box::new(Copying { from: Part::Payload, to: Part::Reply, loads: blocks, stores })));
        let kind = RpcType {
            share: 1.0,
            request_bytes: function.packet_bytes,
            reply_bytes: function.packet_bytes,
            steps: steps.into(),
            remote: Box::default(),
            copies: 1,
            answer: None,
        };
        let blocks = function.state_bytes.div_ceil(SLOT_BYTES.into()).max(1);
        let regions = Regions { state: layout.region("the function's state", blocks)?, ..Regions::default() };
        Ok(Self { types: vec![kind], regions, item_blocks: 1, is_appended: false })
    }
}
