//! The modules that choose a core beside the policies.

use super::same;
use crate::model::Model;
use crate::rng::Rng;
use nebula_nic::{CentralDispatch, Choose, CoreId, Header, Jbsq, KeyHash, NodeId, Random, RoundRobin, Rss, TwoChoices};

const CORES: u16 = 48;

pub(super) fn jbsq(model: &mut Model, inputs: u64, seed: u64) -> Result<(), String> {
    // Runs of 20,000: the bound, and how many of the cores there are, differ.
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

/// A core is picked, and in the same cycle one ends.
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

pub(super) fn rss(model: &mut Model, inputs: u64, seed: u64) -> Result<(), String> {
    let (mut by_sender, mut by_key) = (Rss::new(CORES, seed), KeyHash::new(CORES));
    model.set_named("cores_i", CORES.into());
    model.set_named("seed_i", seed);
    let mut rng = Rng::new(seed);
    for number in 0..inputs {
        let header = header(&mut rng);
        let is_by_key = rng.happens(50);
        set_header(model, &header, is_by_key);
        model.cycle();
        let core = if is_by_key { by_key.choose(&header) } else { by_sender.choose(&header) };
        same(number, "core", u64::from(core.0), model.get_named("core_o"))?;
    }
    Ok(())
}

/// With three registers, a header goes in each cycle, and its core comes out three cycles later.
pub(super) fn rss_staged(model: &mut Model, inputs: u64, seed: u64) -> Result<(), String> {
    let mut by_sender = Rss::new(CORES, seed);
    model.set_named("cores_i", CORES.into());
    model.set_named("seed_i", seed);
    let mut rng = Rng::new(seed);
    let mut on_the_way = std::collections::VecDeque::new();
    for number in 0..inputs {
        let header = header(&mut rng);
        set_header(model, &header, false);
        on_the_way.push_back(by_sender.choose(&header));
        model.cycle();
        if number >= 3 {
            let core = on_the_way.pop_front().map(|core| u64::from(core.0));
            same(number, "core", core, Some(model.get_named("core_o")))?;
        }
    }
    Ok(())
}

pub(super) fn draw(model: &mut Model, inputs: u64, seed: u64) -> Result<(), String> {
    model.set_named("cores_i", CORES.into());
    model.set_named("seed_i", seed);
    // First one a cycle, then two, each time from the seed.
    for (port, draws_two) in [("take_one_i", false), ("take_two_i", true)] {
        ["take_one_i", "take_two_i"].iter().for_each(|port| model.set_named(port, 0));
        model.reset();
        model.set_named(port, 1);
        let (mut one, mut two) = (Random::new(CORES, seed), TwoChoices::new(CORES, seed));
        for number in 0..inputs / 2 {
            model.cycle();
            let (first, second) = (model.get_named("first_o"), model.get_named("second_o"));
            if !draws_two {
                same(number, "drawn", u64::from(one.choose(&Header::default()).0), first)?;
                continue;
            }
            // Loads that make the second of them, or the first, the less loaded.
            let is_second = number % 2 == 1;
            let load = |core: CoreId| u32::from(u64::from(core.0) != if is_second { second } else { first });
            let chosen = two.choose_by_load(&Header::default(), load);
            same(number, "the less loaded of two", u64::from(chosen.0), if is_second { second } else { first })?;
        }
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
