//! One queue for all cores: RPCs are dispatched in the order of their arrival.
//!
//! So an arrival already knows how many RPCs wait. If the bound of the queue is reached, the RPC is
//! refused, which changes nothing for the others.

use super::block::Block;
use super::terms::{Recursion, Stop};
use super::waiting::Waiting;
use pulp::NullaryFnOnce;

pub(super) trait Cores {
    /// Whether the compiler vectorizes loops of [`take`](Self::take).
    const IS_IN_VECTORS: bool = false;

    /// Gives a core the RPC that arrives at `arrived`, after all before it.
    fn take(&mut self, arrived: u64, service: u64) -> Taken;
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    pub(super) dispatched: u64,
    pub(super) begun: u64,
    pub(super) ended: u64,
}

pub(super) struct OneQueue<C> {
    cores: C,
    bound: Option<u32>,
    waiting: Waiting,
}

/// RPCs of a block: its draws, recursion and statistics fit the first-level cache.
const BLOCK_RPCS: usize = 512;

impl<C: Cores> OneQueue<C> {
    /// An empty queue that refuses RPCs which find `bound` waiting.
    pub(super) fn new(cores: C, bound: Option<u32>) -> Self {
        Self { cores, bound, waiting: Waiting::new() }
    }

    #[inline(always)]
    fn serve_all(&mut self, block: &mut Block) {
        let Self { cores, waiting, .. } = self;
        let drawn = block.arrived.iter().zip(&block.service);
        let served = block.begun.iter_mut().zip(&mut block.ended).zip(&mut block.found);
        for ((&arrived, &service), ((begun, ended), found)) in drawn.zip(served) {
            *found = waiting.found(arrived);
            let taken = cores.take(arrived, service);
            waiting.push(arrived, taken.dispatched);
            (*begun, *ended) = (taken.begun, taken.ended);
        }
    }

    /// Serves below a bound: the block's columns keep the served RPCs, without gaps.
    #[inline(always)]
    fn serve_below(&mut self, bound: u32, block: &mut Block) {
        let mut served = 0;
        for index in 0..block.arrived.len() {
            let (arrived, service) = (block.arrived[index], block.service[index]);
            let found = self.waiting.found(arrived);
            block.found[index] = found;
            if found < bound {
                let taken = self.cores.take(arrived, service);
                self.waiting.push(arrived, taken.dispatched);
                (block.arrived[served], block.service[served]) = (arrived, service);
                (block.begun[served], block.ended[served]) = (taken.begun, taken.ended);
                block.kinds[served] = block.kinds[index];
                served += 1;
            }
        }
        block.keep(served);
    }
}

struct Serve<'a, C>(&'a mut OneQueue<C>, &'a mut Block);

impl<C: Cores> NullaryFnOnce for Serve<'_, C> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        match self.0.bound {
            None => self.0.serve_all(self.1),
            Some(bound) => self.0.serve_below(bound, self.1),
        }
    }
}

/// Serves in vectors of at most 256 bits. Shorter vectors are faster for loops over small integers
/// that end in one number, since a comparison's result stays in the vector.
fn in_vectors<C: Cores>(serve: Serve<'_, C>) {
    #[cfg(target_arch = "x86_64")]
    if let Some(machine) = pulp::x86::V3::try_new() {
        return machine.vectorize(serve);
    }
    serve.call();
}

impl<C: Cores> Recursion for OneQueue<C> {
    fn block_rpcs(&self) -> usize {
        BLOCK_RPCS
    }

    fn serve(&mut self, block: &mut Block) -> Result<(), Stop> {
        self.waiting.reserve(block.arrived.len())?;
        let serve = Serve(self, block);
        if C::IS_IN_VECTORS {
            in_vectors(serve);
        } else {
            serve.call();
        }
        Ok(())
    }
}
