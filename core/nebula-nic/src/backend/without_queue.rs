//! Station 3 without waiting: an RPC that no core takes at once is refused (Erlang's loss system).

use super::Backend;
use crate::dispatch::{CentralDispatch, Placement};
use crate::time::Timestamp;
use crate::verdict::{NackReason, Verdict};
use crate::wire::{Header, Kind};

impl<D: CentralDispatch> Backend<D> {
    /// Like [`handle_packet`](Self::handle_packet), but refuses an RPC that no core has credit for;
    /// under a policy with a queue per core, the core that was chosen for it. The queue bound has
    /// no effect.
    ///
    /// An RPC of several packets is refused as [too large](NackReason::TooLarge), since it would
    /// wait for its packets.
    ///
    /// # Examples
    ///
    /// ```
    /// use nebula_nic::{Backend, BackendConfig, Header, NackReason, Policy, Timestamp, Verdict};
    ///
    /// let mut nic = Backend::try_new(BackendConfig::new(1, Policy::SingleQueue))?;
    /// let header = Header { rpc_bytes: 40, ..Header::default() };
    /// assert!(matches!(nic.handle_packet_without_queue(Timestamp::ZERO, header), Verdict::Write { .. }));
    /// assert!(nic.poll_dispatch().is_some());
    /// let refused = Verdict::Nack { reason: NackReason::QueueBound };
    /// assert_eq!(nic.handle_packet_without_queue(Timestamp::ZERO, header), refused, "the one core is busy");
    /// # Ok::<(), nebula_nic::ConfigError>(())
    /// ```
    #[inline(never)]
    pub fn handle_packet_without_queue(&mut self, now: Timestamp, header: Header) -> Verdict {
        if header.kind != Kind::Request || header.pkt_idx != 0 {
            return self.handle_packet(now, header);
        }
        self.counters.packets += 1;
        if header.rpc_bytes > self.one_packet_bytes_max {
            return self.nack(NackReason::TooLarge);
        }
        let placement = self.dispatch.place(&header, &self.queue);
        let has_credit = match placement {
            Placement::Shared => !self.queue.has_shared() && self.dispatch.pick().is_some(),
            Placement::Core(core) => self.dispatch.outstanding(core) < self.dispatch.bound(),
        };
        if has_credit { self.handle_whole(now, &header, placement) } else { self.nack(NackReason::QueueBound) }
    }
}
