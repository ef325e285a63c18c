//! The key-value store: the accesses that `nebula-kvs` describes, and computing between them.
//!
//! ```text
//! GET   payload ─▶ 40 % of the computing ─▶ bucket ─▶ 10 % ─▶ item ⇒ reply, block by block ─▶ 50 %
//! SET   payload ─▶ 40 % of the computing ─▶ bucket ─▶ 10 % ─▶ item's key ─▶ payload ⇒ item ─▶ bucket, reply ─▶ 50 %
//! ```
//!
//! `─▶` waits for the step before; `⇒` is a copy loop with several outstanding blocks.

use super::super::BlocksError;
use super::super::application::{Gets, KeyValue};
use super::super::machine::{Machine, ps_of};
use super::super::map::{Layout, Part};
use super::remote_memory::{OPERATION_BYTES, ROUND_TRIP};
use super::{Compiled, Copying, Fill, Place, Regions, Remote, RpcType, Step};
use nebula_kvs::Mode;
use nebula_kvs::protocol::HEADER_BYTES;
use nebula_kvs::touch::{Access, Op, Structure, Touch, touches};
use nebula_nic::SLOT_BYTES;

/// Assumed shares of computing: parsing and hashing, index to item, reply and housekeeping.
const COMPUTE_SHARES: [f64; 3] = [0.4, 0.1, 0.5];

#[expect(clippy::cast_possible_truncation, reason = "a header is a few bytes")]
const HEADER: u32 = HEADER_BYTES as u32;

impl Compiled {
    pub(super) fn key_value(store: &KeyValue, machine: &Machine, layout: &mut Layout) -> Result<Self, BlocksError> {
        for (name, got, most) in [
            ("keys", store.keys, 1u32 << 30),
            ("buckets", store.buckets, 1 << 30),
            ("key_bytes", store.key_bytes, 255),
            ("value_bytes", store.value_bytes, 16 * 1024),
        ] {
            if !(1..=most).contains(&got) {
                return Err(BlocksError::Parameter { name, got: got.into(), least: 1.0, most: most.into() });
            }
        }
        let of = |op| touched(op, store);
        let item_blocks = item_blocks(of(Op::GetHit));
        let (key, value) = (store.key_bytes, store.value_bytes);
        let get = match store.gets {
            Gets::Rpc => RpcType {
                share: store.get_share,
                request_bytes: HEADER + key,
                reply_bytes: HEADER + value,
                steps: get_steps(of(Op::GetHit), machine, (HEADER + value).div_ceil(SLOT_BYTES)),
                remote: Box::default(),
                copies: 1,
                answer: None,
            },
            Gets::OneSided => remote_get(store.get_share, item_blocks),
        };
        let set = RpcType {
            share: 1.0 - store.get_share,
            request_bytes: HEADER + key + value,
            reply_bytes: HEADER,
            steps: set_steps(of(Op::SetInPlace), machine, (HEADER + key + value).div_ceil(SLOT_BYTES)),
            remote: Box::default(),
            copies: 1,
            answer: None,
        };
        let regions = Regions {
            index: layout.region("the index's buckets", store.buckets.into())?,
            log: layout.region("the store's items", u64::from(store.keys) * u64::from(item_blocks))?,
            ..Regions::default()
        };
        Ok(Self { types: vec![get, set], regions, item_blocks, is_appended: false })
    }
}

/// A GET by one-sided reads of bucket and item; both requests are on the link at the first's time.
fn remote_get(share: f64, item_blocks: u32) -> RpcType {
    RpcType {
        share,
        request_bytes: 2 * OPERATION_BYTES,
        reply_bytes: SLOT_BYTES * item_blocks,
        steps: Box::default(),
        remote: [Remote::Read(Part::Index, 1), Remote::RoundTrip(ROUND_TRIP), Remote::Read(Part::Log, item_blocks)]
            .into(),
        copies: 1,
        answer: None,
    }
}

#[expect(clippy::cast_possible_truncation, reason = "values are bounded")]
fn item_blocks(touches: impl Iterator<Item = Touch>) -> u32 {
    touches.filter(|touch| touch.what == Structure::LogItem).count() as u32
}

/// The store's accesses outside the core's L1; those to resident memory are part of the computing.
fn touched(op: Op, store: &KeyValue) -> impl Iterator<Item = Touch> {
    let (key, value) = (store.key_bytes as usize, store.value_bytes as usize);
    let is_shared = |touch: &Touch| matches!(touch.what, Structure::Bucket | Structure::LogItem);
    touches(op, Mode::Cache, key, value).filter(is_shared)
}

fn get_steps(touches: impl Iterator<Item = Touch>, machine: &Machine, reply_blocks: u32) -> Box<[Step]> {
    let loads = item_blocks(touches);
    let fill = if machine.core.reply_stores_fetch { Fill::Fetched } else { Fill::Whole };
    let stores = (0..reply_blocks).map(|block| (block, fill)).collect();
    let copy = Copying { from: Part::Log, to: Part::Reply, loads, stores };
    let [begin, middle, end] = computing(machine);
    [
        Step::Read(Place::of(Part::Payload, 0)),
        begin,
        Step::LookAhead,
        Step::Read(Place::of(Part::Index, 0)),
        middle,
        Step::Copy(Box::new(copy)),
        end,
    ]
    .into()
}

fn set_steps(touches: impl Iterator<Item = Touch>, machine: &Machine, request_blocks: u32) -> Box<[Step]> {
    let of_item: Vec<Touch> = touches.filter(|touch| touch.what == Structure::LogItem).collect();
    let (reads, writes): (Vec<Touch>, Vec<Touch>) = of_item.into_iter().partition(|touch| touch.access == Access::Read);
    let fill = |whole| if whole && !machine.core.log_stores_fetch { Fill::Whole } else { Fill::Fetched };
    let stores = writes.iter().map(|write| (write.block, fill(write.whole))).collect();
    let copy = Copying { from: Part::Payload, to: Part::Log, loads: request_blocks, stores };
    let [begin, middle, end] = computing(machine);
    let bucket = Place::of(Part::Index, 0);
    let mut steps = vec![Step::Read(Place::of(Part::Payload, 0)), begin, Step::LookAhead, Step::Read(bucket), middle];
    steps.extend(reads.iter().map(|read| Step::Read(Place::of(Part::Log, read.block))));
    steps.push(Step::Copy(Box::new(copy)));
    steps.extend([Step::Write(bucket, Fill::Fetched), Step::Write(Place::of(Part::Reply, 0), Fill::Fetched), end]);
    steps.into()
}

fn computing(machine: &Machine) -> [Step; 3] {
    COMPUTE_SHARES.map(|share| Step::Compute(ps_of(share * machine.core.compute_ns)))
}
