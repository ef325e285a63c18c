//! A server's grants: which of its clients' messages of several packets may go on.
//!
//! [`Grants`] decides; this module knows where each message came from last. It knows only messages
//! whose client waits for grants; the others come as their clients' windows allow.

use crate::rpc::recipient::Recipient;
use nebula_nic::{BURST_PACKETS, Grant, Grants, GrantsConfig, Missing, RpcKey, Span, Timestamp};

/// A round trip through two kernels and a busy engine takes tens of microseconds. So more packets
/// are in flight than with a NIC in hardware: as many as an acknowledgment can describe.
pub(super) const GRANTS: GrantsConfig = GrantsConfig {
    unscheduled: 16,
    ahead: BURST_PACKETS,
    overcommitment: 8,
    messages_max: 256,
    patience: Span::from_ms(1),
};

#[derive(Debug)]
pub(super) struct Granting {
    grants: Grants,
    /// The known messages, and where the latest packet of each came from.
    recipients: Vec<(RpcKey, Recipient)>,
    has_news: bool,
    /// Until then only news change what is granted.
    decided_until: Timestamp,
}

impl Granting {
    pub(super) fn new() -> Self {
        Self {
            grants: Grants::new(GRANTS),
            recipients: Vec::with_capacity(GRANTS.messages_max as usize),
            has_news: false,
            decided_until: Timestamp::ZERO,
        }
    }

    #[inline(always)]
    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        self.has_news || (!self.recipients.is_empty() && now >= self.decided_until)
    }

    /// A new packet of an incomplete message of `packets` packets has come.
    pub(super) fn handle_packet(&mut self, now: Timestamp, rpc: RpcKey, packets: u32, from: &Recipient) {
        self.make_room(now, rpc);
        if self.grants.handle_packet(now, rpc, packets) {
            self.remember(rpc, from);
            self.has_news = true;
        }
    }

    /// The grant for a message whose sender asks, with its missing packets.
    pub(super) fn handle_ask(
        &mut self,
        now: Timestamp,
        rpc: RpcKey,
        packets: u32,
        missing: Missing,
        from: &Recipient,
    ) -> Grant {
        self.make_room(now, rpc);
        let known = self.grants.messages();
        let grant = self.grants.handle_ask(now, rpc, packets, missing.first + missing.bitmap.count_ones());
        if self.grants.messages() > known {
            self.remember(rpc, from);
        }
        self.has_news = true;
        grant
    }

    /// The message is complete, or given up.
    pub(super) fn forget(&mut self, rpc: RpcKey) {
        if let Some(place) = self.recipients.iter().position(|(known, _)| *known == rpc) {
            self.recipients.swap_remove(place);
            self.grants.forget(rpc);
            self.has_news = true;
        }
    }

    pub(super) fn poll_grant(&mut self, now: Timestamp) -> Option<(Grant, Recipient)> {
        (self.has_news, self.decided_until) = (false, now + GRANTS.patience);
        loop {
            let grant = self.grants.poll_grant(now)?;
            if let Some((_, recipient)) = self.recipients.iter().find(|(known, _)| *known == grant.rpc) {
                return Some((grant, *recipient));
            }
        }
    }

    /// Makes room for `rpc` in a full list: removes a silent client's message.
    fn make_room(&mut self, now: Timestamp, rpc: RpcKey) {
        let is_full = self.recipients.len() >= GRANTS.messages_max as usize;
        if is_full
            && self.recipients.iter().all(|(known, _)| *known != rpc)
            && let Some(silent) = self.grants.silent(now)
        {
            self.forget(silent);
        }
    }

    /// Remembers a message's latest sender: a client may change its address.
    fn remember(&mut self, rpc: RpcKey, from: &Recipient) {
        match self.recipients.iter_mut().find(|(known, _)| *known == rpc) {
            Some((_, recipient)) => *recipient = *from,
            None => self.recipients.push((rpc, *from)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nebula_nic::{NodeId, TransferId};

    fn rpc(snid: u32) -> RpcKey {
        RpcKey { snid: NodeId(snid), tid: TransferId(7) }
    }

    fn recipient(snid: u32) -> Recipient {
        Recipient { snid: NodeId(snid), ..Recipient::none() }
    }

    #[test]
    fn grants_go_where_the_latest_packet_came_from_and_to_nobody_once_a_message_is_over() {
        let (mut granting, now) = (Granting::new(), Timestamp::ZERO);
        assert!(!granting.is_due(now + Span::from_secs(9)));
        granting.handle_packet(now, rpc(1), 100, &recipient(1));
        granting.handle_packet(now, rpc(1), 100, &recipient(2));
        granting.handle_packet(now, rpc(3), 30, &recipient(3));
        assert!(granting.is_due(now));
        let granted: Vec<_> = std::iter::from_fn(|| granting.poll_grant(now)).collect();
        assert_eq!(granted.iter().map(|(_, to)| to.snid.0).collect::<Vec<_>>(), [3, 2], "the shorter one first");
        assert!(!granting.is_due(now) && granting.is_due(now + Span::from_ms(1)));
        granting.forget(rpc(1));
        granting.forget(rpc(3));
        assert!(granting.poll_grant(now).is_none() && !granting.is_due(now + Span::from_secs(9)));
    }

    #[test]
    fn more_messages_than_there_is_room_for_are_not_kept() {
        let (mut granting, now) = (Granting::new(), Timestamp::ZERO);
        for snid in 0..1000 {
            granting.handle_packet(now, rpc(snid), 100, &recipient(snid));
        }
        assert_eq!(granting.recipients.len(), 256);
        let asked = granting.handle_ask(now, rpc(999), 100, Missing { first: 20, bitmap: 0b10 }, &recipient(999));
        assert_eq!(asked, Grant { rpc: rpc(999), packets: 22 });
        assert_eq!(granting.recipients.len(), 256);
        // Messages that may send unscheduled packets, and have sent one, are silent after a while.
        let later = now + GRANTS.patience + Span::from_ns(1);
        granting.handle_packet(later, rpc(999), 100, &recipient(999));
        assert_eq!((granting.recipients.len(), granting.grants.messages()), (256, 256));
        assert!(granting.recipients.iter().any(|(known, _)| *known == rpc(999)));
        assert!(granting.recipients.iter().all(|(known, _)| *known != rpc(0)), "the one that was silent for longest");
        // A packet of a known message removes no other.
        granting.handle_packet(later, rpc(999), 100, &recipient(999));
        assert!(granting.recipients.iter().any(|(known, _)| *known == rpc(1)));
    }
}
