//! Draws in blocks: a block looks at the distribution once, and draws do not wait for their use.
//!
//! Each stream has one purpose, so the draws equal those made one by one.

use nebula_nic::Span;
use nebula_workload::{ArrivalProcess, Rng, Seed, ServiceTime, TypeId};

const BLOCK: usize = 64;

pub(super) struct Gaps {
    process: ArrivalProcess,
    stream: Rng,
    drawn: Box<[Span; BLOCK]>,
    next: usize,
}

impl Gaps {
    pub(super) fn new(process: ArrivalProcess, seed: Seed) -> Self {
        Self { process, stream: seed.stream("arrivals"), drawn: Box::new([Span::ZERO; BLOCK]), next: BLOCK }
    }

    #[inline(always)]
    pub(super) fn next(&mut self) -> Span {
        if self.next == BLOCK {
            self.draw();
        }
        let gap = self.drawn[self.next];
        self.next += 1;
        gap
    }

    #[inline(never)]
    fn draw(&mut self) {
        self.process.fill(&mut self.stream, &mut *self.drawn);
        self.next = 0;
    }
}

pub(super) struct Services<'a> {
    law: &'a ServiceTime,
    stream: Rng,
    times: [Span; BLOCK],
    types: [TypeId; BLOCK],
    next: usize,
}

impl<'a> Services<'a> {
    pub(super) fn new(law: &'a ServiceTime, seed: Seed) -> Self {
        let (times, types) = ([Span::ZERO; BLOCK], [TypeId(0); BLOCK]);
        Self { law, stream: seed.stream("service"), times, types, next: BLOCK }
    }

    #[inline(always)]
    pub(super) fn next(&mut self) -> (TypeId, Span) {
        if self.next == BLOCK {
            self.draw();
        }
        let drawn = (self.types[self.next], self.times[self.next]);
        self.next += 1;
        drawn
    }

    #[inline(never)]
    fn draw(&mut self) {
        self.law.fill_typed(&mut self.stream, &mut self.types, &mut self.times);
        self.next = 0;
    }
}
