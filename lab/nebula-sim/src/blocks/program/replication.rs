//! The leader of a replicated state machine: updates go to the log and to followers, which answer.

use super::super::BlocksError;
use super::super::application::Replication;
use super::super::map::{Layout, Part};
use super::{Answer, Compiled, Copying, Fill, Place, Regions, RpcType, Step, check_bytes};
use nebula_nic::SLOT_BYTES;
use nebula_workload::ServiceTime;

impl Compiled {
    pub(super) fn replication(replication: &Replication, layout: &mut Layout) -> Result<Self, BlocksError> {
        check_bytes("update_bytes", replication.update_bytes)?;
        check_bytes("answer_bytes", replication.answer_bytes)?;
        let blocks = replication.update_bytes.div_ceil(SLOT_BYTES);
        let payload = || Step::Read(Place::of(Part::Payload, 0));
        let copy = |to| {
            let stores = (0..blocks).map(|block| (block, Fill::Whole)).collect();
            Step::Copy(Box::new(Copying { from: Part::Payload, to, loads: blocks, stores }))
        };
        let draw = |service: &ServiceTime| Step::Draw(Box::new(service.clone()));
        let update = RpcType {
            share: 1.0,
            request_bytes: replication.update_bytes,
            reply_bytes: replication.update_bytes,
            steps: [payload(), Step::LookAhead, draw(&replication.update_service), copy(Part::Log), copy(Part::Reply)]
                .into(),
            remote: Box::default(),
            copies: replication.followers,
            answer: Some(Answer { type_index: 1, after: replication.answer_after }),
        };
        let answer = RpcType {
            share: 0.0,
            request_bytes: replication.answer_bytes,
            reply_bytes: 8,
            steps: [payload(), Step::LookAhead, draw(&replication.answer_service)].into(),
            remote: Box::default(),
            copies: 0,
            answer: None,
        };
        let log = (replication.log_bytes / u64::from(SLOT_BYTES)).max(blocks.into());
        let regions = Regions { log: layout.region("the log", log)?, ..Regions::default() };
        Ok(Self { types: vec![update, answer], regions, item_blocks: blocks, is_appended: true })
    }
}
