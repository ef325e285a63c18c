//! The RPCs of a run, which a service takes one after the other: request in, reply out.
//!
//! A reply is visible to its client as soon as the next request is taken. Data common to all, such
//! as the client's ring, is looked up once. Over a network all replies are written into one answer,
//! which the transport keeps before the next one begins.

use super::answer::{Answer, Keep};
use super::fault::Fault;
use super::reply::Reply;
use super::slot::Slots;
use nebula_nic::{BurstRpc, Run, SLOT_BYTES};

#[derive(Debug)]
pub(crate) enum Replies<'r> {
    /// Into the client's ring, where each RPC spans so many slots.
    Ring(Slots<'r>, u32),
    /// Into one answer, which is kept after each reply.
    Kept(&'r mut Answer, &'r mut dyn Keep),
}

/// RPCs that a worker serves one after the other.
///
/// # Examples
///
/// A service that looks at all of them before it answers the first:
///
/// ```
/// use nebula::{Client, Reply, Requests, Server, Service};
///
/// struct Sorted;
///
/// impl Service for Sorted {
///     // One alone is the longest.
///     fn serve(&self, _: &[u8], reply: &mut Reply<'_>) {
///         reply.write(b"longest");
///     }
///
///     fn serve_burst(&self, requests: &mut Requests<'_>) {
///         let longest = (0..requests.len()).map(|ahead| requests.peek(ahead).len()).max();
///         requests.for_each(|request, reply| reply.write(if Some(request.len()) == longest { b"longest" } else { request }));
///     }
/// }
///
/// let name = format!("shm://doc-requests-{}", std::process::id());
/// let server = Server::bind(&name).inline(true).serve(Sorted)?;
/// assert_eq!(Client::connect(&name)?.call(b"alone")?, b"longest");
/// server.stop();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Requests<'r> {
    taken: usize,
    /// How many of those are answered: all, or all but the last.
    answered: usize,
    reply: Reply<'r>,
    payloads: &'r [u8],
    bytes_each: usize,
    rpcs: &'r [BurstRpc],
    /// The position of the first RPC in the client's ring, and the slots that each spans there.
    position: u32,
    span: u32,
    /// Keeps the replies, unless they go into a ring.
    keeper: Option<&'r mut dyn Keep>,
    may_prefetch: bool,
}

impl<'r> Requests<'r> {
    #[inline(always)]
    pub(crate) fn new(
        run: &Run,
        rpcs: &'r [BurstRpc],
        payloads: &'r [u8],
        replies: Replies<'r>,
        may_prefetch: bool,
    ) -> Self {
        let position = run.burst.first.tid.0;
        let (reply, span, keeper) = match replies {
            Replies::Ring(slots, span) => (Reply::in_ring(slots, position, span), span, None),
            Replies::Kept(answer, keeper) => (Reply::buffered(answer), 0, Some(keeper)),
        };
        Self {
            taken: 0,
            answered: 0,
            reply,
            payloads,
            bytes_each: (run.burst.slots_each * SLOT_BYTES) as usize,
            rpcs,
            position,
            span,
            keeper,
            may_prefetch,
        }
    }

    /// How many requests are left.
    #[must_use]
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.rpcs.len() - self.taken
    }

    /// Whether all requests were taken.
    #[must_use]
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The request that comes after `ahead` others.
    ///
    /// # Panics
    ///
    /// If there is no such request.
    #[must_use]
    #[inline(always)]
    pub fn peek(&self, ahead: usize) -> &'r [u8] {
        self.request(self.taken + ahead)
    }

    /// Whether to prefetch memory for them: [steering](crate::ServerConfig::steering) is on, and
    /// the service [prefetches](crate::Description::prefetches).
    #[must_use]
    #[inline(always)]
    pub fn may_prefetch(&self) -> bool {
        self.may_prefetch
    }

    #[inline(always)]
    fn request(&self, index: usize) -> &'r [u8] {
        &self.payloads[index * self.bytes_each..][..self.rpcs[index].bytes() as usize]
    }

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "fewer than BURST_MAX")]
    fn position(&self, index: usize) -> u32 {
        self.position.wrapping_add(index as u32 * self.span)
    }

    /// Publishes the previous reply, and takes the next request with the room for its reply.
    #[expect(
        clippy::should_implement_trait,
        reason = "the reply is borrowed until the next call, which no iterator allows"
    )]
    #[inline(always)]
    pub fn next(&mut self) -> Option<(&'r [u8], &mut Reply<'r>)> {
        self.publish();
        if self.taken == self.rpcs.len() {
            return None;
        }
        let (request, position) = (self.request(self.taken), self.position(self.taken));
        match self.keeper {
            None => self.reply.move_to(position),
            Some(_) => self.reply.begin_again(),
        }
        self.taken += 1;
        Some((request, &mut self.reply))
    }

    /// Calls `serve` for each request, and publishes each reply at once.
    #[inline(always)]
    pub fn for_each(&mut self, mut serve: impl FnMut(&'r [u8], &mut Reply<'r>)) {
        if !self.begin_in_ring() {
            while let Some((request, reply)) = self.next() {
                serve(request, reply);
            }
            return;
        }
        self.serve_in_ring(serve);
    }

    /// Whether the replies go into a ring. If so, the other requests are served by
    /// [`serve_in_ring`](Self::serve_in_ring).
    #[inline(always)]
    pub(crate) fn begin_in_ring(&mut self) -> bool {
        let is_in_ring = self.keeper.is_none();
        if is_in_ring {
            self.publish();
        }
        is_in_ring
    }

    /// Serves the requests that are left, and publishes each reply. Its place among them stays in
    /// registers; only the number taken, which a panic needs, is written for each.
    #[inline(always)]
    pub(crate) fn serve_in_ring(&mut self, mut serve: impl FnMut(&'r [u8], &mut Reply<'r>)) {
        let (bytes_each, span, mut position) = (self.bytes_each, self.span, self.position(self.taken));
        let mut payloads = &self.payloads[self.taken * bytes_each..];
        for rpc in &self.rpcs[self.taken..] {
            let (slots, behind) = payloads.split_at(bytes_each);
            self.taken += 1;
            self.reply.move_to(position);
            serve(&slots[..rpc.bytes() as usize], &mut self.reply);
            self.reply.publish_whole();
            (payloads, position) = (behind, position.wrapping_add(span));
        }
        self.answered = self.taken;
    }

    pub(crate) fn is_last_answered(&self) -> bool {
        self.answered == self.taken
    }

    #[inline(always)]
    pub(crate) fn publish(&mut self) {
        if self.answered < self.taken {
            self.answered = self.taken;
            match &mut self.keeper {
                None => self.reply.publish_whole(),
                Some(keeper) => {
                    self.reply.publish();
                    // The rest of the run has not begun: it stays with the transport.
                    if !self.reply.keep(*keeper) {
                        self.rpcs = &self.rpcs[..self.taken];
                    }
                }
            }
        }
    }

    #[cold]
    pub(crate) fn fail(&mut self, fault: Fault) {
        self.answered = self.taken;
        self.reply.fail(fault);
        if let Some(keeper) = &mut self.keeper {
            self.reply.keep(*keeper);
        }
    }
}
