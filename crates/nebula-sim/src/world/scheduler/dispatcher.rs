//! The one thread of a server that schedules: its actions take their time one after the other, and between them it may serve an RPC.

use nebula_nic::{Span, Timestamp};

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Dispatcher {
    /// When its last action is done.
    free: Timestamp,
    /// The RPC that it serves, and when that ends.
    serving: Option<(u32, Timestamp)>,
}

impl Dispatcher {
    /// Does something that takes `span`; when it is done. What it serves has to wait for that.
    #[inline]
    pub(super) fn act(&mut self, now: Timestamp, span: Span) -> Timestamp {
        if span == Span::ZERO {
            return self.free.max(now);
        }
        self.free = self.free.max(now) + span;
        if let Some((_, end)) = &mut self.serving {
            *end += span;
        }
        self.free
    }

    #[inline]
    pub(super) const fn is_serving(&self) -> bool {
        self.serving.is_some()
    }

    /// Serves an RPC once its actions are done; since when.
    pub(super) fn serve(&mut self, now: Timestamp, rpc: u32, service: Span) -> Timestamp {
        let since = self.free.max(now);
        self.serving = Some((rpc, since + service));
        since
    }

    /// When what it serves ends, if no action comes between.
    #[inline]
    pub(super) fn end(&self) -> Option<Timestamp> {
        self.serving.map(|(_, end)| end)
    }

    /// Ends what it serves.
    pub(super) fn finish(&mut self) -> Option<u32> {
        self.serving.take().map(|(rpc, _)| rpc)
    }
}
