//! The scheduling thread of a server: it does its actions one after the other, and between them it
//! may serve an RPC.

use nebula_nic::{Span, Timestamp};

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Dispatcher {
    /// When its last action is done.
    free: Timestamp,
    /// The RPC that it serves, and when that ends.
    serving: Option<(u32, Timestamp)>,
}

impl Dispatcher {
    /// Does an action that takes `span`; returns when it is done. An RPC that the dispatcher serves
    /// waits meanwhile.
    ///
    /// Under overload it alternates: it serves for as long as its previous action took, otherwise
    /// the RPC would never end.
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

    /// Serves an RPC once its actions are done; returns when it begins.
    pub(super) fn serve(&mut self, now: Timestamp, rpc: u32, service: Span) -> Timestamp {
        let since = self.free.max(now);
        self.serving = Some((rpc, since + service));
        since
    }

    /// When the RPC that it serves ends, if no action intervenes.
    #[inline]
    pub(super) fn end(&self) -> Option<Timestamp> {
        self.serving.map(|(_, end)| end)
    }

    /// Ends the RPC that it serves.
    pub(super) fn finish(&mut self) -> Option<u32> {
        self.serving.take().map(|(rpc, _)| rpc)
    }
}
