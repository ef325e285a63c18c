//! The back end in hardware: an [`Rtl`] decides about the inputs of a
//! [`Backend`](nebula_nic::Backend).

use crate::model::{self, Model, Port};
use nebula_nic::decision::Decides;
use nebula_nic::{
    Abandoned, Arrival, BackendConfig, CoreId, Decision, Dispatch, DropReason, Freed, Header, Input, Kind, NackReason,
    NodeId, Policy, RpcKey, ScrubMode, SlotOrder, SlotRange, Sources, Tenants, Timestamp, TransferId, Verdict,
    slots_of,
};
use std::collections::VecDeque;

/// A decision that takes longer hangs.
const CYCLES_MAX: u64 = 1_000_000;

/// A feature that the RTL lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsupported(pub &'static str);

impl std::fmt::Display for Unsupported {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "not in hardware: {}", self.0)
    }
}

impl std::error::Error for Unsupported {}

macro_rules! ports {
    ($model:ident; $($kind:ident: $($name:ident),+;)+) => {
        #[derive(Clone, Copy)]
        struct Ports { $($($name: Port,)+)+ }
        impl Ports {
            fn of($model: &Model) -> Self {
                Self { $($($name: $model.$kind(stringify!($name)),)+)+ }
            }
        }
    };
}

ports! { model;
    input: valid_i, op_i, at_i, is_request_i, snid_i, tid_i, rpc_bytes_i, pkt_idx_i, packets_i, key_hash_i, core_i, start_i,
        slots_i, waiting_i, dispatch_ready_i, abandoned_ready_i;
    output: ready_o, decided_o, verdict_o, reason_o, start_o, slots_o, offset_bytes_o, bytes_o, complete_o, dispatch_valid_o,
        dispatch_core_o, dispatch_snid_o, dispatch_tid_o, dispatch_start_o, dispatch_bytes_o, dispatch_key_hash_o,
        dispatch_arrived_o, abandoned_valid_o, abandoned_snid_o, abandoned_tid_o, abandoned_start_o, abandoned_bytes_o;
}

/// The outputs of a cycle: first a dispatch, then a decision.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shown {
    /// Whether the offered input was taken.
    pub is_taken: bool,
    /// A dispatch, before the decision of this cycle.
    pub dispatch: Option<Dispatch>,
    /// The oldest undecided input was decided; with its decision, if it asks for one.
    pub decided: Option<Option<Decision>>,
}

/// A back end in hardware.
pub struct Rtl {
    model: Model,
    ports: Ports,
    config: BackendConfig,
    up: u64,
    taken: VecDeque<Input>,
}

impl Rtl {
    /// A back end of that configuration in the smallest model that holds it; `seed` sets the
    /// registers' first values.
    ///
    /// # Errors
    ///
    /// A feature that the hardware lacks.
    pub fn try_new(config: BackendConfig, seed: u64) -> Result<Self, Unsupported> {
        check(&config)?;
        let holds = |name: &&str| {
            let at_most = |parameter, needed: u32| {
                model::parameter(name, parameter).is_some_and(|most| u64::from(needed) <= most)
            };
            at_most("Cores", config.cores.into())
                && at_most("Slots", config.slots)
                && at_most("Places", config.rpcs_waiting_max())
                && at_most("Entries", config.reassembler_entries.max(2))
                && (has_queue_per_core(config.policy) || at_most("BoundMax", config.policy.bound()))
        };
        let names = model::names().filter(|name| name.starts_with("backend"));
        let name = names.into_iter().find(holds).ok_or(Unsupported("no model is large enough"))?;
        Self::in_model(name, config, seed)
    }

    /// A back end of that configuration in the model of that name.
    ///
    /// # Errors
    ///
    /// As [`try_new`](Self::try_new).
    pub fn in_model(name: &str, config: BackendConfig, seed: u64) -> Result<Self, Unsupported> {
        check(&config)?;
        let mut model = Model::new(name, seed).ok_or(Unsupported("the model was not compiled"))?;
        configure(&mut model, &config);
        model.reset();
        let ports = Ports::of(&model);
        model.cycle_until("up_o", 1);
        let up = model.cycles();
        Ok(Self { model, ports, config, up, taken: VecDeque::new() })
    }

    /// Cycles since it was up.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        self.model.cycles() - self.up
    }

    /// Runs one cycle, which offers an input and allows dispatches if `gives`.
    ///
    /// Offer `None` for an input that does not involve the back end.
    pub fn cycle(&mut self, offered: Option<(Timestamp, Input)>, gives: bool) -> Shown {
        self.model.set(self.ports.dispatch_ready_i, gives.into());
        match offered {
            Some((at, input)) => self.set_input(at, input),
            None => self.model.set(self.ports.valid_i, 0),
        }
        self.model.cycle();
        let is_taken = offered.is_some() && self.model.get(self.ports.ready_o) == 1;
        let mut shown = Shown { is_taken, dispatch: self.dispatch(), decided: None };
        if self.model.get(self.ports.decided_o) == 1 {
            let input = self.taken.pop_front().expect("an input that was taken");
            shown.decided = Some(self.decision(input));
            if matches!(input, Input::Pull { .. }) {
                shown.dispatch = None; // it is the decision
            }
        }
        self.taken.extend(offered.filter(|_| is_taken).map(|(_, input)| input));
        shown
    }

    /// Runs a cycle without an input; returns a pending dispatch.
    pub fn idle(&mut self) -> Option<Dispatch> {
        self.cycle(None, true).dispatch
    }

    fn set_input(&mut self, at: Timestamp, input: Input) {
        let (model, ports) = (&mut self.model, self.ports);
        model.set(ports.valid_i, 1);
        model.set(ports.at_i, at.as_ps());
        model.set(ports.op_i, op(input));
        match input {
            Input::Packet(header) => {
                let Header { kind, snid, tid, rpc_bytes, pkt_idx, key_hash } = header;
                model.set(ports.is_request_i, u64::from(kind == Kind::Request));
                model.set(ports.snid_i, snid.0.into());
                model.set(ports.tid_i, tid.0.into());
                model.set(ports.rpc_bytes_i, rpc_bytes.into());
                model.set(ports.pkt_idx_i, pkt_idx.into());
                model.set(ports.packets_i, self.config.mtu.packets(rpc_bytes).into());
                model.set(ports.key_hash_i, key_hash.into());
            }
            Input::Free { core, slots } => {
                model.set(ports.core_i, core.0.into());
                model.set(ports.start_i, slots.start.0.into());
                model.set(ports.slots_i, slots.slots.into());
            }
            Input::PeerGone(snid) => model.set(ports.snid_i, snid.0.into()),
            Input::QueueBound(waiting) => model.set(ports.waiting_i, waiting.into()),
            Input::Pull { core } => model.set(ports.core_i, core.0.into()),
            _ => {}
        }
    }

    fn decision(&self, input: Input) -> Option<Decision> {
        let get = |port| self.model.get(port);
        let (verdict, reason) = (get(self.ports.verdict_o), low8(get(self.ports.reason_o)));
        match input {
            Input::Packet(_) => Some(Decision::Packet(match verdict {
                0 => Verdict::Write {
                    slots: SlotRange::new(low(get(self.ports.start_o)), low(get(self.ports.slots_o))),
                    offset_bytes: low(get(self.ports.offset_bytes_o)),
                    bytes: low(get(self.ports.bytes_o)),
                    complete: get(self.ports.complete_o) == 1,
                },
                1 => Verdict::Nack { reason: NackReason::from_code(reason).expect("a reason of a NACK") },
                _ => Verdict::Drop { reason: DropReason::from_code(reason).expect("a reason of a drop") },
            })),
            Input::Free { .. } => Some(Decision::Free(if verdict == 0 { Freed::Taken } else { Freed::Refused })),
            Input::Pull { .. } => self.dispatch().map(Decision::Dispatch),
            _ => None,
        }
    }

    fn dispatch(&self) -> Option<Dispatch> {
        let get = |port| self.model.get(port);
        if get(self.ports.dispatch_valid_o) == 0 {
            return None;
        }
        let rpc = self.rpc(self.ports.dispatch_snid_o, self.ports.dispatch_tid_o);
        let bytes = low(get(self.ports.dispatch_bytes_o));
        let slots = SlotRange::new(low(get(self.ports.dispatch_start_o)), slots_of(bytes));
        let key_hash = low(get(self.ports.dispatch_key_hash_o));
        let arrived = Timestamp::from_ps(get(self.ports.dispatch_arrived_o));
        let core = CoreId(u16::try_from(get(self.ports.dispatch_core_o)).expect("16 bits"));
        Some(Dispatch { core, arrival: Arrival { rpc, slots, bytes, key_hash, arrived } })
    }

    fn rpc(&self, snid: Port, tid: Port) -> RpcKey {
        RpcKey { snid: NodeId(low(self.model.get(snid))), tid: TransferId(low(self.model.get(tid))) }
    }
}

impl Decides for Rtl {
    fn apply(&mut self, at: Timestamp, input: Input) -> Option<Decision> {
        if !is_event(input) {
            return None;
        }
        let first = self.model.cycles();
        while !self.cycle(Some((at, input)), false).is_taken {
            assert!(self.model.cycles() - first < CYCLES_MAX, "{input} is never taken");
        }
        loop {
            if let Some(decision) = self.cycle(None, false).decided {
                return decision;
            }
            assert!(self.model.cycles() - first < CYCLES_MAX, "{input} is never decided about");
        }
    }

    fn poll_abandoned(&mut self) -> Option<Abandoned> {
        self.model.set(self.ports.valid_i, 0);
        self.model.set(self.ports.dispatch_ready_i, 0);
        self.model.set(self.ports.abandoned_ready_i, 1);
        self.model.cycle();
        self.model.set(self.ports.abandoned_ready_i, 0);
        if self.model.get(self.ports.abandoned_valid_o) == 0 {
            return None;
        }
        let slots = slots_of(low(self.model.get(self.ports.abandoned_bytes_o)));
        let rpc = self.rpc(self.ports.abandoned_snid_o, self.ports.abandoned_tid_o);
        Some(Abandoned { rpc, slots: SlotRange::new(low(self.model.get(self.ports.abandoned_start_o)), slots) })
    }

    fn poll_dispatch(&mut self) -> Option<Dispatch> {
        self.idle()
    }
}

fn check(config: &BackendConfig) -> Result<(), Unsupported> {
    let refusals = [
        (config.scrub != ScrubMode::Ahead, "scrub=on-full and scrub=after-nack: a decision would wait for a search"),
        (config.policy == Policy::Darc, "darc: types of RPCs"),
        (config.custom.is_some(), "policies of other crates"),
        (config.sources != Sources::ONE, "sources"),
        (config.tenants != Tenants::ONE, "tenants"),
        (config.incomplete_per_peer != u32::MAX, "incomplete_per_peer"),
        (config.validate().is_err(), "an invalid configuration"),
    ];
    refusals.into_iter().find(|(is_so, _)| *is_so).map_or(Ok(()), |(_, what)| Err(Unsupported(what)))
}

fn configure(model: &mut Model, config: &BackendConfig) {
    // The bound that the arrival queue has places for, as the back end computes it.
    let slack = config.reassembler_entries.saturating_add(config.cores.into());
    let bound_max =
        if config.queue_capacity >= config.slots { u32::MAX } else { config.queue_capacity.saturating_sub(slack) };
    for (name, value) in [
        ("policy_i", policy_code(config.policy)),
        ("bound_i", config.policy.bound().into()),
        ("cores_i", config.cores.into()),
        ("buffer_slots_i", config.slots.into()),
        ("first_when_empty_i", u64::from(config.slot_order == SlotOrder::FirstWhenEmpty)),
        ("mtu_i", config.mtu.bytes().into()),
        ("rpc_bytes_max_i", config.rpc_bytes_max.into()),
        ("reassembler_entries_i", config.reassembler_entries.into()),
        ("queue_bound_i", config.queue_bound.into()),
        ("queue_bound_max_i", bound_max.into()),
        ("reassembly_timeout_i", config.reassembly_timeout.as_ps()),
        ("seed_i", config.seed),
    ] {
        model.set_named(name, value);
    }
}

/// `policy_e` of backend.sv.
const fn policy_code(policy: Policy) -> u64 {
    match policy {
        Policy::Rss | Policy::WorkStealing => 1,
        Policy::Static => 2,
        Policy::RoundRobin => 3,
        Policy::Random => 4,
        Policy::KeyHash => 5,
        Policy::TwoChoices => 6,
        _ => 0,
    }
}

/// Whether RPCs join a core's queue under this policy.
#[must_use]
pub const fn has_queue_per_core(policy: Policy) -> bool {
    policy_code(policy) != 0
}

/// `op_e` of backend.sv.
const fn op(input: Input) -> u64 {
    match input {
        Input::Packet(_) => 0,
        Input::Free { .. } => 1,
        Input::Timeout => 2,
        Input::PeerGone(_) => 3,
        Input::QueueBound(_) => 4,
        _ => 5,
    }
}

/// Whether the input involves the back end.
#[must_use]
pub const fn is_event(input: Input) -> bool {
    matches!(input, Input::Packet(_) | Input::Free { .. } | Input::Timeout)
        || matches!(input, Input::PeerGone(_) | Input::QueueBound(_) | Input::Pull { .. })
}

fn low(word: u64) -> u32 {
    u32::try_from(word).expect("a port of 32 bits")
}

fn low8(word: u64) -> u8 {
    u8::try_from(word).expect("a port of a few bits")
}
