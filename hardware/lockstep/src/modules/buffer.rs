//! Compares `recv_buffer` with [`RecvBuffer`], with the search ahead of need.

use super::same;
use crate::model::{Model, Port};
use crate::rng::Rng;
use nebula_nic::{CoreId, Holder, RecvBuffer, SlotOrder, SlotRange};

const SLOTS: u32 = 1000;
const CORES: u32 = 16;

struct Pair<'m> {
    model: &'m mut Model,
    soft: RecvBuffer,
    longest: u32,
    ok: Port,
    start: Port,
    live: Vec<(SlotRange, Holder)>,
}

pub(super) fn check(model: &mut Model, inputs: u64, seed: u64) -> Result<(), String> {
    // Half of the inputs for short RPCs, which are decided in a cycle, half for long ones.
    for (run, (longest, order)) in [(64, SlotOrder::Circular), (300, SlotOrder::FirstWhenEmpty)].into_iter().enumerate()
    {
        model.set_named("buffer_slots_i", SLOTS.into());
        model.set_named("slots_per_rpc_max_i", longest);
        model.set_named("first_when_empty_i", u64::from(order == SlotOrder::FirstWhenEmpty));
        ["alloc_i", "free_i", "release_i", "give_i"].iter().for_each(|port| model.set_named(port, 0));
        model.reset();
        model.cycle_until("ready_o", 1);
        let [ok, start] = ["ok_o", "start_o"].map(|port| model.output(port));
        let soft = RecvBuffer::new(SLOTS).in_order(order);
        let longest = u32::try_from(longest).expect("few");
        let mut pair = Pair { model: &mut *model, soft, longest, ok, start, live: Vec::new() };
        let mut rng = Rng::new(seed + run as u64);
        (0..inputs / 2).try_for_each(|number| pair.input(number, &mut rng))?;
    }
    Ok(())
}

impl Pair<'_> {
    fn input(&mut self, number: u64, rng: &mut Rng) -> Result<(), String> {
        // Waves: the content grows, and shrinks again.
        let grows = number / 300 % 3 != 2;
        match rng.below(10) {
            0 => self.lie(number, rng),
            1 if !self.live.is_empty() => self.give(rng),
            dice if dice < if grows { 7 } else { 4 } => self.alloc(number, rng),
            _ if !self.live.is_empty() => self.free(number, rng),
            _ => Ok(()),
        }
    }

    fn alloc(&mut self, number: u64, rng: &mut Rng) -> Result<(), String> {
        let most = if rng.happens(50) { self.longest } else { 4 };
        let slots = 1 + rng.below(most);
        let range = self.soft.alloc_ahead(slots, self.longest);
        self.model.set_named("slots_i", slots.into());
        self.apply("alloc_i");
        let made = (self.model.get(self.ok) == 1).then(|| self.model.get(self.start));
        same(number, "slots", range.map(|range| u64::from(range.start.0)), made)?;
        self.live.extend(range.map(|range| (range, Holder::Nic)));
        Ok(())
    }

    fn give(&mut self, rng: &mut Rng) -> Result<(), String> {
        let which = rng.which(self.live.len());
        if self.live[which].1 != Holder::Nic {
            return Ok(());
        }
        let core = CoreId(u16::try_from(rng.below(CORES)).expect("few"));
        let range = self.live[which].0;
        self.soft.give(range, core);
        self.live[which].1 = Holder::Core(core);
        self.model.set_named("give_start_i", range.start.0.into());
        self.model.set_named("give_core_i", core.0.into());
        self.model.set_named("give_i", 1);
        self.model.cycle();
        self.model.set_named("give_i", 0);
        Ok(())
    }

    fn free(&mut self, number: u64, rng: &mut Rng) -> Result<(), String> {
        let (range, holder) = self.live.swap_remove(rng.which(self.live.len()));
        match holder {
            Holder::Core(core) => self.free_by(number, core, range),
            _ => {
                let freed = self.soft.free(range, Holder::Nic);
                self.set_range(range);
                self.apply("release_i");
                same(number, "released", freed, self.model.get(self.ok) == 1)
            }
        }
    }

    /// A core frees a range that it does not hold, or not in this form.
    fn lie(&mut self, number: u64, rng: &mut Rng) -> Result<(), String> {
        let core = CoreId(u16::try_from(rng.below(CORES + 2)).expect("few"));
        let mut range = SlotRange::new(rng.below(SLOTS + 70), rng.below(140));
        if let Some(&(held, _)) = self.live.get(rng.which(self.live.len().max(1))) {
            range = SlotRange::new((held.start.0 + rng.below(3)).saturating_sub(1), held.slots + 64 * rng.below(2));
        }
        let is_right = self.live.contains(&(range, Holder::Core(core)));
        if is_right { Ok(()) } else { self.free_by(number, core, range) }
    }

    fn free_by(&mut self, number: u64, core: CoreId, range: SlotRange) -> Result<(), String> {
        self.soft.look_ahead(self.longest);
        let freed = self.soft.free(range, Holder::Core(core));
        self.set_range(range);
        self.model.set_named("core_i", core.0.into());
        self.apply("free_i");
        same(number, "freed", freed, self.model.get(self.ok) == 1)
    }

    fn set_range(&mut self, range: SlotRange) {
        self.model.set_named("start_i", range.start.0.into());
        self.model.set_named("slots_i", range.slots.into());
    }

    fn apply(&mut self, operation: &str) {
        self.model.set_named(operation, 1);
        self.model.cycle_until("done_o", 1);
        self.model.set_named(operation, 0);
    }
}
