//! Compares the modules that choose a core with the policies.

use super::{hash_of, same};
use crate::model::Model;
use crate::rng::Rng;
use nebula_nic::{
    CentralDispatch, Choose, CoreId, Header, Jbsq, KeyHash, NodeId, Random, RoundRobin, Rss, TransferId, TwoChoices,
};
use std::collections::VecDeque;

const CORES: u16 = 48;
/// Places of refused RPCs.
const KEYS: u64 = 16;

pub(super) fn jbsq(model: &mut Model, inputs: u64, seed: u64) -> Result<(), String> {
    // Runs of 20,000, with different bounds and numbers of cores.
    for run in 0..inputs.div_ceil(20_000) {
        let bound = 1 + u32::try_from(run % 4).expect("few");
        let cores = [48, 2, 33][usize::try_from(run % 3).expect("few")];
        model.set_named("bound_i", bound.into());
        model.set_named("cores_i", u64::from(cores));
        ["take_i", "freed_i"].iter().for_each(|port| model.set_named(port, 0));
        model.reset();
        let mut soft = Jbsq::new(cores, bound);
        let mut rng = Rng::new(seed + run);
        (0..20_000).try_for_each(|number| jbsq_input(model, &mut soft, cores, &mut rng, number))?;
    }
    Ok(())
}

/// In one cycle a core is picked and a core ends an RPC.
fn jbsq_input(model: &mut Model, soft: &mut Jbsq, cores: u16, rng: &mut Rng, number: u64) -> Result<(), String> {
    ["take_i", "freed_i"].iter().for_each(|port| model.set_named(port, 0));
    let pick = soft.pick();
    let taken = pick.filter(|_| rng.happens(60));
    if let Some(core) = taken {
        soft.handle_dispatched(core);
        model.set_named("take_i", 1);
        model.set_named("take_core_i", core.0.into());
    }
    let core = CoreId(u16::try_from(rng.below(cores.into())).expect("few"));
    if soft.outstanding(core) > 0 {
        soft.handle_freed(core);
        model.set_named("freed_i", 1);
        model.set_named("freed_core_i", core.0.into());
    }
    model.cycle();
    let picked = (model.get_named("any_o") == 1).then(|| model.get_named("pick_o"));
    same(number, "pick", pick.map(|core| u64::from(core.0)), picked)
}

fn header(rng: &mut Rng) -> Header {
    let [snid, key_hash] = [(); 2].map(|()| u32::try_from(rng.word() >> 32).expect("32 bits"));
    Header { snid: NodeId(snid), key_hash, ..Header::default() }
}

fn set_header(model: &mut Model, header: &Header, by_key: bool) {
    model.set_named("snid_i", header.snid.0.into());
    model.set_named("key_hash_i", header.key_hash.into());
    model.set_named("by_key_i", by_key.into());
}

/// A header goes in each cycle; its core comes out four cycles later.
pub(super) fn rss(model: &mut Model, inputs: u64, seed: u64) -> Result<(), String> {
    let (mut by_sender, mut by_key) = (Rss::new(CORES, seed), KeyHash::new(CORES));
    model.set_named("cores_i", CORES.into());
    model.set_named("seed_i", seed);
    let mut rng = Rng::new(seed);
    let mut on_the_way = VecDeque::new();
    for number in 0..inputs {
        let header = header(&mut rng);
        let is_by_key = rng.happens(50);
        set_header(model, &header, is_by_key);
        on_the_way.push_back(if is_by_key { by_key.choose(&header) } else { by_sender.choose(&header) });
        model.cycle();
        if number >= 4 {
            let core = on_the_way.pop_front().map(|core| u64::from(core.0));
            same(number, "core", core, Some(model.get_named("core_o")))?;
        }
    }
    Ok(())
}

/// Offers numbered inputs and takes them at random: they come out in order, with their hashes.
pub(super) fn hash_ahead(model: &mut Model, inputs: u64, seed: u64) -> Result<(), String> {
    for run in 0..inputs.div_ceil(20_000) {
        // Mostly full, mostly empty, and one in each cycle.
        let (offers, takes) = [(90, 40), (30, 90), (100, 100)][usize::try_from(run % 3).expect("few")];
        ahead(model, run % 2 == 1, (offers, takes), seed + run)?;
    }
    Ok(())
}

fn ahead(model: &mut Model, is_by_key: bool, (offers, takes): (u32, u32), seed: u64) -> Result<(), String> {
    let (mut by_sender, mut by_key) = (Rss::new(CORES, seed), KeyHash::new(CORES));
    for (name, value) in [("cores_i", CORES.into()), ("seed_i", seed), ("valid_i", 0), ("ready_i", 0)] {
        model.set_named(name, value);
    }
    model.reset();
    let mut rng = Rng::new(seed);
    let mut inside = VecDeque::new();
    let mut taken = 0;
    for number in 0..20_000 {
        let header = Header { tid: TransferId(rng.below(1 << 30)), ..header(&mut rng) };
        set_header(model, &header, is_by_key);
        let is_offered = rng.happens(offers);
        let is_taken_on = rng.happens(takes);
        let values = [
            ("tid_i", header.tid.0.into()),
            ("input_i", number),
            ("valid_i", is_offered.into()),
            ("ready_i", is_taken_on.into()),
        ];
        values.into_iter().for_each(|(name, value)| model.set_named(name, value));
        model.cycle();
        if model.get_named("valid_o") == 1 && is_taken_on {
            let made = ["input_o", "core_o", "place_o"].map(|port| model.get_named(port));
            same(number, "input, core and place", inside.pop_front(), Some(made))?;
            taken += 1;
        }
        if is_offered && model.get_named("ready_o") == 1 {
            let core = if is_by_key { by_key.choose(&header) } else { by_sender.choose(&header) };
            inside.push_back([number, core.0.into(), hash_of(&header, seed) % KEYS]);
        }
    }
    // One a cycle, after the five cycles of the first.
    let least = if (offers, takes) == (100, 100) { 20_000 - 5 } else { 1 };
    if taken >= least { Ok(()) } else { Err(format!("{taken} inputs in 20000 cycles, not {least}")) }
}

pub(super) fn draw(model: &mut Model, inputs: u64, seed: u64) -> Result<(), String> {
    model.set_named("cores_i", CORES.into());
    model.set_named("seed_i", seed);
    // First one a cycle, then two, each time from the seed.
    for (port, draws_two) in [("take_one_i", false), ("take_two_i", true)] {
        ["take_one_i", "take_two_i"].iter().for_each(|port| model.set_named(port, 0));
        model.reset();
        // The first numbers are drawn.
        (0..5).for_each(|_| model.cycle());
        model.set_named(port, 1);
        let (mut one, mut two) = (Random::new(CORES, seed), TwoChoices::new(CORES, seed));
        for number in 0..inputs / 2 {
            model.cycle();
            let (first, second) = (model.get_named("first_o"), model.get_named("second_o"));
            if !draws_two {
                same(number, "drawn", u64::from(one.choose(&Header::default()).0), first)?;
                continue;
            }
            // Makes the second, or the first, the less loaded.
            let is_second = number % 2 == 1;
            let load = |core: CoreId| u32::from(u64::from(core.0) != if is_second { second } else { first });
            let chosen = two.choose_by_load(&Header::default(), load);
            same(number, "the less loaded of two", u64::from(chosen.0), if is_second { second } else { first })?;
        }
    }
    draw_either(model, inputs / 2, seed)
}

/// Takes one, two or none in a cycle, at random.
fn draw_either(model: &mut Model, inputs: u64, seed: u64) -> Result<(), String> {
    ["take_one_i", "take_two_i"].iter().for_each(|port| model.set_named(port, 0));
    model.reset();
    (0..5).for_each(|_| model.cycle());
    let (mut rng, mut numbers) = (Rng::new(seed + 1), Rng::new(seed));
    let mut draw = || u64::from(numbers.below(CORES.into()));
    let mut next = [draw(), draw()];
    for number in 0..inputs {
        let taken = rng.below(3);
        model.set_named("take_one_i", u64::from(taken == 1));
        model.set_named("take_two_i", u64::from(taken == 2));
        model.cycle();
        same(number, "the next two", next, ["first_o", "second_o"].map(|port| model.get_named(port)))?;
        next = match taken {
            0 => next,
            1 => [next[1], draw()],
            _ => [draw(), draw()],
        };
    }
    Ok(())
}

pub(super) fn round_robin(model: &mut Model, inputs: u64, seed: u64) -> Result<(), String> {
    model.set_named("cores_i", CORES.into());
    model.set_named("take_i", 0);
    model.reset();
    let mut soft = RoundRobin::new(CORES);
    let mut rng = Rng::new(seed);
    for number in 0..inputs {
        let is_taken = rng.happens(70);
        model.set_named("take_i", is_taken.into());
        model.cycle();
        let next = soft.clone().choose(&Header::default());
        same(number, "turn", u64::from(next.0), model.get_named("core_o"))?;
        if is_taken {
            soft.choose(&Header::default());
        }
    }
    Ok(())
}
