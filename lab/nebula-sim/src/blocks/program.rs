//! The steps of a core for one RPC, compiled once from the application and the machine.
//!
//! Loads block the core. Stores are posted: the core continues, and the RPC ends when its last
//! store is done.
//!
//! Next: [`world`](super::world), which carries the steps out.

mod key_value;
mod network_function;
mod remote_memory;
mod replication;

use super::application::Application;
use super::error::BlocksError;
use super::machine::Machine;
use super::map::{Layout, Part, Region};
use nebula_nic::{SLOT_BYTES, Span};
use nebula_workload::ServiceTime;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// The core computes for this many picoseconds.
    Compute(u64),
    /// The core computes for a random time, drawn for each RPC.
    Draw(Box<ServiceTime>),
    /// Software reads the completion queue ahead, if the design does.
    LookAhead,
    /// The core waits for a block.
    Read(Place),
    /// The core stores to a block.
    Write(Place, Fill),
    Copy(Box<Copying>),
}

/// One step of the NIC for a one-sided operation, in which no core takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Remote {
    /// It reads this many blocks, from the first of a part on, and sends them.
    Read(Part, u32),
    /// It writes this many blocks, from the first of a part on.
    Write(Part, u32),
    /// The client has the answer, and its next request arrives after this time.
    RoundTrip(Span),
}

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
    /// Needed: only a part of the block is written, or the core cannot tell.
    Fetched,
    /// Not needed: the complete block is written without a fetch.
    Whole,
}

/// A copy loop: the store of pair `i` waits for its load.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Copying {
    pub(super) from: Part,
    pub(super) to: Part,
    /// Blocks to load, from the first.
    pub(super) loads: u32,
    pub(super) stores: Box<[(u32, Fill)]>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct RpcType {
    /// Its share of the RPCs that clients send; 0 for a type that only follows from others.
    pub(super) share: f64,
    pub(super) request_bytes: u32,
    pub(super) reply_bytes: u32,
    pub(super) steps: Box<[Step]>,
    /// The NIC's steps for a one-sided operation, in place of `steps`; empty for an RPC.
    pub(super) remote: Box<[Remote]>,
    /// Messages that are sent when it has been served: its reply, or copies of it.
    pub(super) copies: u16,
    /// The message that arrives in response to each copy.
    pub(super) answer: Option<Answer>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) type_index: u16,
    pub(super) after: Span,
}

#[derive(Clone, Debug)]
pub(super) struct Compiled {
    pub(super) types: Vec<RpcType>,
    pub(super) regions: Regions,
    /// Blocks of an item of [`Part::Log`].
    pub(super) item_blocks: u32,
    /// Whether the log is written sequentially instead of at random places.
    pub(super) is_appended: bool,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Regions {
    pub(super) index: Region,
    pub(super) log: Region,
    pub(super) state: Region,
    pub(super) shared_receive: Region,
    pub(super) connection_receive: Region,
    pub(super) shared_send: Region,
    pub(super) connection_send: Region,
    pub(super) receive_metadata: Region,
    pub(super) send_metadata: Region,
    pub(super) hog: Region,
    /// Blocks of a send slot.
    pub(super) slot_blocks: u32,
    /// Blocks of a receive slot: those of a send slot and its headroom.
    pub(super) receive_slot_blocks: u32,
}

/// Blocks of memory that another program streams through.
const HOG_BLOCKS: u64 = 16 << 20;

impl Compiled {
    pub(super) fn of(application: &Application, machine: &Machine) -> Result<Self, BlocksError> {
        let mut layout = Layout::default();
        let mut compiled = match application {
            Application::KeyValue(store) => Self::key_value(store, machine, &mut layout)?,
            Application::NetworkFunction(function) => Self::network_function(function, &mut layout)?,
            Application::Replication(replication) => Self::replication(replication, &mut layout)?,
            Application::RemoteMemory(memory) => Self::remote_memory(memory, &mut layout)?,
        };
        let shares: f64 = compiled.types.iter().map(|kind| kind.share).sum();
        if (shares - 1.0).abs() > 1e-9 || compiled.types.iter().any(|kind| !(0.0..=1.0).contains(&kind.share)) {
            return Err(BlocksError::Shares { got: shares });
        }
        compiled.lay_out_buffers(machine, &mut layout)?;
        Ok(compiled)
    }

    fn lay_out_buffers(&mut self, machine: &Machine, layout: &mut Layout) -> Result<(), BlocksError> {
        let deployment = &machine.deployment;
        let bytes_max = |get: fn(&RpcType) -> u32| self.types.iter().map(get).max().unwrap_or(1);
        let (request, reply) = (bytes_max(|kind| kind.request_bytes), bytes_max(|kind| kind.reply_bytes));
        if request.div_ceil(SLOT_BYTES) > deployment.receive_buffer_bytes / SLOT_BYTES {
            return Err(BlocksError::Request { bytes: request, buffer_bytes: deployment.receive_buffer_bytes });
        }
        let slot_blocks = request.max(reply).div_ceil(SLOT_BYTES);
        let slots = u64::from(deployment.nodes) * u64::from(deployment.messages_per_node);
        let receive = u64::from(deployment.receive_buffer_bytes / SLOT_BYTES);
        let send = (deployment.send_pool_bytes / u64::from(SLOT_BYTES)).max(u64::from(slot_blocks));
        let regions = &mut self.regions;
        regions.slot_blocks = slot_blocks;
        regions.receive_slot_blocks = slot_blocks + deployment.headroom_blocks;
        regions.shared_receive = layout.region("the receive buffer", receive)?;
        regions.shared_send = layout.region("the send buffers", send)?;
        regions.connection_receive =
            layout.region("the receive slots", slots * u64::from(slot_blocks + deployment.headroom_blocks))?;
        regions.connection_send = layout.region("the send slots", slots * u64::from(slot_blocks))?;
        regions.receive_metadata = layout.region("the receive slots' bookkeeping", slots)?;
        regions.send_metadata = layout.region("the send slots' bookkeeping", slots.div_ceil(2))?;
        regions.hog = layout.region("another program's memory", HOG_BLOCKS)?;
        Ok(())
    }
}

fn check_bytes(name: &'static str, got: u32) -> Result<(), BlocksError> {
    if (1..=16 * 1024).contains(&got) {
        return Ok(());
    }
    Err(BlocksError::Parameter { name, got: got.into(), least: 1.0, most: 16384.0 })
}
