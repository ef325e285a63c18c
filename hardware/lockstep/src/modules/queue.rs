//! Compares modules with [`ArrivalQueue`], [`Admission`], a policy's credit, and the [`Frontend`].

use super::same;
use crate::model::Model;
use crate::rng::Rng;
use nebula_nic::{
    Admission, Arrival, ArrivalQueue, CoreId, Dispatch, FairShare, Frontend, Header, NodeId, Placement, Queues, RpcKey,
    SlotRange, Sources, Steer, Steering, Timestamp, TransferId,
};

const CORES: u16 = 16;
const PLACES: u32 = 64;

fn arrival(number: u64) -> Arrival {
    let tid = TransferId(u32::try_from(number % (1 << 32)).expect("32 bits"));
    Arrival { rpc: RpcKey { snid: NodeId(0), tid }, slots: SlotRange::new(0, 1), ..Arrival::default() }
}

fn clear(model: &mut Model) {
    model.set_named("clear_i", 1);
    for core in 0..CORES {
        model.set_named("clear_core_i", core.into());
        model.cycle();
    }
    model.set_named("clear_i", 0);
}

pub(super) fn arrival_queue(model: &mut Model, inputs: u64, seed: u64) -> Result<(), String> {
    for (per_core, queues) in [(false, Queues::Shared), (true, Queues::PerCore)] {
        ["push_i", "pop_i", "grant_i", "withhold_i"].iter().for_each(|port| model.set_named(port, 0));
        model.set_named("per_core_i", per_core.into());
        model.reset();
        clear(model);
        let mut soft = ArrivalQueue::new(PLACES, CORES, queues);
        let mut rng = Rng::new(seed);
        (0..inputs / 2).try_for_each(|number| queue_input(model, &mut soft, per_core, (&mut rng, number)))?;
    }
    Ok(())
}

/// In one cycle an RPC leaves, a core has credit again, and another RPC joins.
fn queue_input(
    model: &mut Model,
    soft: &mut ArrivalQueue,
    per_core: bool,
    (rng, number): (&mut Rng, u64),
) -> Result<(), String> {
    let grows = number / 50 % 3 != 2;
    let core = |rng: &mut Rng| CoreId(u16::try_from(rng.below(CORES.into())).expect("few"));
    let (pops, withholds, granted) = (rng.happens(if grows { 45 } else { 70 }), rng.happens(50), core(rng));
    let joins = rng.happens(60).then(|| core(rng));
    let asked = core(rng);
    let waiting =
        |soft: &ArrivalQueue| soft.waiting_at(if per_core { Placement::Core(asked) } else { Placement::Shared });
    model.set_named("first_i", asked.0.into());
    let before = waiting(soft);
    let mut popped = None;
    if pops {
        popped = if per_core { soft.pop_ready() } else { soft.pop_shared().map(|arrival| (CoreId(0), arrival)) };
        if let (true, true, Some((core, _))) = (per_core, withholds, popped) {
            soft.withhold(core);
        }
    }
    // Pops only from a queue that was not empty in the previous cycle, as the back end does.
    model.set_named("pop_i", popped.is_some().into());
    model.set_named("withhold_i", withholds.into());
    let grants = rng.happens(40);
    if grants {
        soft.grant(granted);
    }
    model.set_named("grant_i", grants.into());
    model.set_named("grant_core_i", granted.0.into());
    let joined = joins.filter(|_| soft.waiting() < PLACES);
    if let Some(core) = joined {
        soft.push(if per_core { Placement::Core(core) } else { Placement::Shared }, arrival(number));
        model.set_named("push_core_i", core.0.into());
        model.set_named("push_entry_i", arrival(number).rpc.tid.0.into());
    }
    model.set_named("push_i", joined.is_some().into());
    model.cycle();
    let counted = model.get_named(if per_core { "first_o" } else { "waiting_o" });
    same(number, "waiting", u64::from(before), counted)?;
    let Some((core, arrival)) = popped else { return Ok(()) };
    let made =
        (model.get_named("any_o"), if per_core { model.get_named("core_o") } else { 0 }, model.get_named("entry_o"));
    same(number, "taken", (1, core.0.into(), arrival.rpc.tid.0.into()), made)
}

pub(super) fn credit(model: &mut Model, inputs: u64, seed: u64) -> Result<(), String> {
    ["give_i", "freed_i"].iter().for_each(|port| model.set_named(port, 0));
    clear(model);
    let mut soft = [0_u64; CORES as usize];
    let mut rng = Rng::new(seed);
    for number in 0..inputs {
        let [given, freed, asked] = [(); 3].map(|()| rng.which(CORES.into()));
        let gives = rng.happens(50) && soft[given] < 100;
        model.set_named("first_i", asked as u64);
        model.set_named("give_core_i", given as u64);
        model.set_named("freed_core_i", freed as u64);
        model.set_named("give_i", gives.into());
        let before = (soft[asked], soft[given]);
        soft[given] += u64::from(gives);
        let frees = soft[freed] > 0 && rng.happens(50);
        soft[freed] -= u64::from(frees);
        model.set_named("freed_i", frees.into());
        model.cycle();
        same(number, "outstanding", before, (model.get_named("first_o"), model.get_named("give_o")))?;
    }
    Ok(())
}

pub(super) fn admission(model: &mut Model, inputs: u64, seed: u64) -> Result<(), String> {
    let mut rng = Rng::new(seed);
    for number in 0..inputs.min(20_000) {
        let bound = rng.below(PLACES);
        let bound_max = if rng.happens(50) { PLACES } else { rng.below(PLACES) };
        let waiting = rng.below(PLACES);
        let per_core = rng.happens(50);
        let mut share = FairShare::new(Sources::ONE);
        let mut soft = Admission::new(PLACES, bound_max, CORES).sharing(&share);
        soft.set_bound(&share, bound);
        let queues = if per_core { Queues::PerCore } else { Queues::Shared };
        let placement = if per_core { Placement::Core(CoreId(3)) } else { Placement::Shared };
        let mut queue = ArrivalQueue::new(PLACES, CORES, queues);
        (0..waiting).for_each(|one| queue.push(placement, arrival(one.into())));
        let refusal = soft.refusal(Timestamp::ZERO, (&queue, &mut share), (Header::default().snid, placement));
        model.set_named("cores_i", CORES.into());
        model.set_named("queue_bound_i", PLACES.into());
        model.set_named("queue_bound_max_i", bound_max.into());
        model.set_named("waiting_i", bound.into());
        model.set_named("set_bound_i", 0);
        model.reset();
        model.set_named("set_bound_i", 1);
        model.cycle();
        model.set_named("set_bound_i", 0);
        model.set_named("is_shared_i", (!per_core).into());
        // An RPC dispatched in the same cycle no longer waits.
        let is_given = rng.happens(50);
        model.set_named("waiting_at_i", u64::from(waiting) + u64::from(is_given));
        model.set_named("given_i", is_given.into());
        model.cycle_until("busy_o", 0);
        same(number, "refused", refusal.is_some(), model.get_named("refused_o") == 1)?;
    }
    Ok(())
}

pub(super) fn frontend(model: &mut Model, inputs: u64, seed: u64) -> Result<(), String> {
    let mut rng = Rng::new(seed);
    for (bound, steering) in [(1, Steering::On), (2, Steering::On), (4, Steering::Off), (3, Steering::On)] {
        model.set_named("bound_i", bound.into());
        model.set_named("steering_i", u64::from(steering == Steering::On));
        ["dispatch_i", "poll_i", "release_i"].iter().for_each(|port| model.set_named(port, 0));
        model.reset();
        let mut soft = Frontend::new(CoreId(0), bound);
        soft.set_steering(steering);
        let given = (0..inputs / 4).try_for_each(|number| front_input(model, &mut soft, bound, (&mut rng, number)));
        given?;
    }
    Ok(())
}

fn front_input(
    model: &mut Model,
    soft: &mut Frontend,
    bound: u32,
    (rng, number): (&mut Rng, u64),
) -> Result<(), String> {
    let step = ["dispatch_i", "poll_i", "release_i"][rng.which(3)];
    ["dispatch_i", "poll_i", "release_i"].iter().for_each(|port| model.set_named(port, (*port == step).into()));
    let tid = |arrival: Arrival| u64::from(arrival.rpc.tid.0);
    model.set_named("arrival_i", tid(arrival(number)));
    model.cycle();
    let seen = (model.get_named("outstanding_o"), model.get_named("in_service_o"));
    same(number, "outstanding", (soft.outstanding().into(), soft.in_service().into()), seen)?;
    match step {
        "dispatch_i" => {
            let accepts = soft.outstanding() < bound;
            same(number, "accepts", accepts, model.get_named("accepts_o") == 1)?;
            if accepts {
                let steer = soft.handle_dispatch(Dispatch { core: CoreId(0), arrival: arrival(number) });
                let made = (model.get_named("steer_now_o") == 1, model.get_named("steer_later_o") == 1);
                same(number, "steers", (steer == Steer::Now, steer == Steer::Later), made)?;
            }
        }
        "poll_i" => {
            let begin = soft.poll_completion().map(|begin| (tid(begin.arrival), begin.steer_next.map(tid)));
            let next = (model.get_named("next_valid_o") == 1).then(|| model.get_named("next_o"));
            let made = (model.get_named("begin_valid_o") == 1).then(|| (model.get_named("begin_o"), next));
            same(number, "begins", begin, made)?;
        }
        _ => {
            let ends = soft.in_service() > 0;
            same(number, "ends", ends, model.get_named("releases_o") == 1)?;
            if ends {
                soft.handle_release(SlotRange::new(0, 1));
            }
        }
    }
    Ok(())
}
