//! What a core does for one RPC, step by step: compiled once from the application and the machine.
//!
//! ```text
//! GET   payload ─▶ 40 % of the computing ─▶ bucket ─▶ 10 % ─▶ item ⇒ reply, block by block ─▶ 50 %
//! SET   payload ─▶ 40 % of the computing ─▶ bucket ─▶ 10 % ─▶ item's key ─▶ payload ⇒ item ─▶ bucket, reply ─▶ 50 %
//! ```
//!
//! `─▶` waits for the step before; `⇒` is a copy loop with several blocks on the way. Stores are posted: the RPC ends when the
//! last one is done, the core goes on before.

use super::ServerError;
use super::application::{Application, KeyValue, NetworkFunction, Replication};
use super::machine::Machine;
use super::map::{Layout, Part, Region};
use nebula_kvs::Mode;
use nebula_kvs::protocol::HEADER_BYTES;
use nebula_kvs::touch::{Access, Op, Structure, Touch, touches};
use nebula_nic::{SLOT_BYTES, Span};
use nebula_workload::ServiceTime;

/// One step of a core.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// The core computes for so many picoseconds.
    Compute(u64),
    /// The core computes for a time that is drawn for each RPC.
    Draw(Box<ServiceTime>),
    /// Software looks into the completion queue, if the design does.
    LookAhead,
    /// The core waits for a block.
    Read(Place),
    /// The core stores to a block; `whole` where no old byte is needed.
    Write(Place, Fill),
    /// Blocks of one thing are copied to another.
    Copy(Box<Copying>),
}

/// A block of what an RPC works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) part: Part,
    pub(super) block: u32,
}

impl Place {
    const fn of(part: Part, block: u32) -> Self {
        Self { part, block }
    }
}

/// Whether the old bytes of a block are needed when it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fill {
    /// They are: a part of the block is written, or the core does not know better.
    Fetched,
    /// All of it is written, and nothing fetched.
    Whole,
}

/// A copy loop: the store of pair `i` waits for its load.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Copying {
    pub(super) from: Part,
    pub(super) to: Part,
    /// Blocks to load, from the first.
    pub(super) loads: u32,
    /// Blocks to store.
    pub(super) stores: Box<[(u32, Fill)]>,
}

/// A type of RPC.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RpcType {
    /// Of those that clients send, the share that is of this type; 0 for one that only follows from others.
    pub(super) share: f64,
    pub(super) request_bytes: u32,
    pub(super) reply_bytes: u32,
    pub(super) steps: Box<[Step]>,
    /// Messages that go out when it is served: its reply, or its copies.
    pub(super) copies: u16,
    /// What comes back for each copy.
    pub(super) answer: Option<Answer>,
}

/// What comes back after a message has gone out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) type_index: u16,
    pub(super) after: Span,
}

/// An application on a machine.
#[derive(Clone, Debug)]
pub(super) struct Compiled {
    pub(super) types: Vec<RpcType>,
    pub(super) regions: Regions,
    /// What an RPC's [`Part::Log`] is.
    pub(super) item_blocks: u32,
    /// Whether the log is written from end to end, and not at random.
    pub(super) is_appended: bool,
}

/// Where everything lies.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Regions {
    pub(super) index: Region,
    pub(super) log: Region,
    pub(super) state: Region,
    /// Shared: the receive buffer. Per connection: all receive slots.
    pub(super) shared_receive: Region,
    pub(super) connection_receive: Region,
    pub(super) shared_send: Region,
    pub(super) connection_send: Region,
    pub(super) receive_metadata: Region,
    pub(super) send_metadata: Region,
    pub(super) hog: Region,
    /// Blocks of a slot of either kind.
    pub(super) slot_blocks: u32,
}

/// Of the computing, what comes before the index, before the item, and after both.
///
/// # Source
///
/// Assumed: request parsing and hashing first, reply and housekeeping last.
const COMPUTE_SHARES: [f64; 3] = [0.4, 0.1, 0.5];

/// Memory that another program streams through.
const HOG_BLOCKS: u64 = 16 << 20;

impl Compiled {
    pub(super) fn of(application: &Application, machine: &Machine) -> Result<Self, ServerError> {
        let mut layout = Layout::default();
        let mut compiled = match application {
            Application::KeyValue(store) => Self::key_value(store, machine, &mut layout)?,
            Application::NetworkFunction(function) => Self::network_function(function, &mut layout)?,
            Application::Replication(replication) => Self::replication(replication, &mut layout)?,
        };
        let shares: f64 = compiled.types.iter().map(|kind| kind.share).sum();
        if (shares - 1.0).abs() > 1e-9 || compiled.types.iter().any(|kind| !(0.0..=1.0).contains(&kind.share)) {
            return Err(ServerError::Shares { got: shares });
        }
        compiled.lay_out_buffers(machine, &mut layout)?;
        Ok(compiled)
    }

    fn lay_out_buffers(&mut self, machine: &Machine, layout: &mut Layout) -> Result<(), ServerError> {
        let deployment = &machine.deployment;
        let bytes_max = |get: fn(&RpcType) -> u32| self.types.iter().map(get).max().unwrap_or(1);
        let (request, reply) = (bytes_max(|kind| kind.request_bytes), bytes_max(|kind| kind.reply_bytes));
        if request.div_ceil(SLOT_BYTES) > deployment.receive_buffer_bytes / SLOT_BYTES {
            return Err(ServerError::Request { bytes: request, buffer_bytes: deployment.receive_buffer_bytes });
        }
        let slot_blocks = request.max(reply).div_ceil(SLOT_BYTES);
        let slots = u64::from(deployment.nodes) * u64::from(deployment.messages_per_node);
        let receive = u64::from(deployment.receive_buffer_bytes / SLOT_BYTES);
        let send = (deployment.send_pool_bytes / u64::from(SLOT_BYTES)).max(u64::from(slot_blocks));
        let regions = &mut self.regions;
        regions.slot_blocks = slot_blocks;
        regions.shared_receive = layout.region("the receive buffer", receive)?;
        regions.shared_send = layout.region("the send buffers", send)?;
        regions.connection_receive = layout.region("the receive slots", slots * u64::from(slot_blocks))?;
        regions.connection_send = layout.region("the send slots", slots * u64::from(slot_blocks))?;
        regions.receive_metadata = layout.region("the receive slots' bookkeeping", slots)?;
        regions.send_metadata = layout.region("the send slots' bookkeeping", slots.div_ceil(2))?;
        regions.hog = layout.region("another program's memory", HOG_BLOCKS)?;
        Ok(())
    }

    fn key_value(store: &KeyValue, machine: &Machine, layout: &mut Layout) -> Result<Self, ServerError> {
        for (name, got, most) in [
            ("keys", store.keys, 1u32 << 30),
            ("buckets", store.buckets, 1 << 30),
            ("key_bytes", store.key_bytes, 255),
            ("value_bytes", store.value_bytes, 16 * 1024),
        ] {
            if !(1..=most).contains(&got) {
                return Err(ServerError::Parameter { name, got: got.into(), least: 1.0, most: most.into() });
            }
        }
        let of = |op| touched(op, store);
        let item_blocks = of(Op::GetHit).filter(|touch| touch.what == Structure::LogItem).count() as u32;
        let header = HEADER_BYTES as u32;
        let (key, value) = (store.key_bytes, store.value_bytes);
        let get = RpcType {
            share: store.get_share,
            request_bytes: header + key,
            reply_bytes: header + value,
            steps: get_steps(of(Op::GetHit), machine, (header + value).div_ceil(SLOT_BYTES)),
            copies: 1,
            answer: None,
        };
        let set = RpcType {
            share: 1.0 - store.get_share,
            request_bytes: header + key + value,
            reply_bytes: header,
            steps: set_steps(of(Op::SetInPlace), machine, (header + key + value).div_ceil(SLOT_BYTES)),
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

    fn network_function(function: &NetworkFunction, layout: &mut Layout) -> Result<Self, ServerError> {
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
            copies: 1,
            answer: None,
        };
        let blocks = function.state_bytes.div_ceil(SLOT_BYTES.into()).max(1);
        let regions = Regions { state: layout.region("the function's state", blocks)?, ..Regions::default() };
        Ok(Self { types: vec![kind], regions, item_blocks: 1, is_appended: false })
    }

    fn replication(replication: &Replication, layout: &mut Layout) -> Result<Self, ServerError> {
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
            copies: replication.followers,
            answer: Some(Answer { type_index: 1, after: replication.answer_after }),
        };
        let answer = RpcType {
            share: 0.0,
            request_bytes: replication.answer_bytes,
            reply_bytes: 8,
            steps: [payload(), Step::LookAhead, draw(&replication.answer_service)].into(),
            copies: 0,
            answer: None,
        };
        let log = (replication.log_bytes / u64::from(SLOT_BYTES)).max(blocks.into());
        let regions = Regions { log: layout.region("the log", log)?, ..Regions::default() };
        Ok(Self { types: vec![update, answer], regions, item_blocks: blocks, is_appended: true })
    }
}

fn check_bytes(name: &'static str, got: u32) -> Result<(), ServerError> {
    if (1..=16 * 1024).contains(&got) {
        return Ok(());
    }
    Err(ServerError::Parameter { name, got: got.into(), least: 1.0, most: 16384.0 })
}

/// What the store touches of memory that is not resident in the core's L1; what is resident is part of the computing.
fn touched(op: Op, store: &KeyValue) -> impl Iterator<Item = Touch> {
    let (key, value) = (store.key_bytes as usize, store.value_bytes as usize);
    let is_shared = |touch: &Touch| matches!(touch.what, Structure::Bucket | Structure::LogItem);
    touches(op, Mode::Cache, key, value).filter(is_shared)
}

fn get_steps(touches: impl Iterator<Item = Touch>, machine: &Machine, reply_blocks: u32) -> Box<[Step]> {
    let loads = touches.filter(|touch| touch.what == Structure::LogItem).count() as u32;
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
    COMPUTE_SHARES.map(|share| Step::Compute((share * machine.core.compute_ns * 1e3).round() as u64))
}
