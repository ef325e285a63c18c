//! The scheduling thread of a server: one action after the other, and RPCs between them.

use nebula_nic::{Span, Timestamp};

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Dispatcher {
    free: Timestamp,
    serving: Option<(u32, Timestamp)>,
}

impl Dispatcher {
    /// Does an action of length `span`, for which an RPC in service waits; returns its end. Under
    /// overload the RPC runs as long as the action before took, or it would never end.
    #[inline]
    pub(super) fn act(&mut self, now: Timestamp, span: Span) -> Timestamp {
        if span == Span::ZERO {
            return self.free.max(now);
        }
        let mut begins = self.free.max(now);
        if let Some((_, end)) = &mut self.serving {
            let is_behind = begins > now && *end > begins;
            begins += if is_behind { span } else { Span::ZERO };
            *end += span;
        }
        self.free = begins + span;
        self.free
    }

    #[inline]
    pub(super) const fn is_serving(&self) -> bool {
        self.serving.is_some()
    }

    pub(super) fn serve(&mut self, now: Timestamp, rpc: u32, service: Span) -> Timestamp {
        let since = self.free.max(now);
        self.serving = Some((rpc, since + service));
        since
    }

    /// The end of the RPC that it serves, if no action intervenes.
    #[inline]
    pub(super) fn end(&self) -> Option<Timestamp> {
        self.serving.map(|(_, end)| end)
    }

    pub(super) fn finish(&mut self) -> Option<u32> {
        self.serving.take().map(|(rpc, _)| rpc)
    }
}
