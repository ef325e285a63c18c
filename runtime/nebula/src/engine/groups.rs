//! `altocumulus:G`, in real time: how the engines of groups cooperate.
//!
//! Each engine publishes its queue's length in its own cache line. Once per period it asks its
//! `Manager` which groups should take its newest waiting RPCs, and sends them notifications with
//! the leases of the slots over SPSC rings. Payloads stay: the receiver's worker reads the origin's
//! region. The origin counts the RPC as its own until the slots come back. No RPC moves twice.
//! Bounds on foreign RPCs and on RPCs that are away keep every ring from overflowing.

use super::turn::Engine;
use crate::nic::ingress::Intake;
use crate::nic::neighbors::{AWAY_MAX, Message, Neighbors};
use crate::nic::transport::Transport;
use nebula_nic::{Adoption, GroupId, Timestamp};
use std::sync::atomic::Ordering;

impl<T: Transport> Engine<T> {
    /// Handles the messages of other groups' engines. Returns their number.
    #[inline]
    pub(super) fn collect_messages(&mut self, now: Timestamp) -> usize {
        let Self { intake, transport, .. } = self;
        let Intake { backend, neighbors: Some(neighbors), payloads, recorder, .. } = intake else { return 0 };
        let mut count = 0;
        for (by, neighbor) in (0..).map(GroupId).zip(&mut neighbors.list) {
            let Some(neighbor) = neighbor else { continue };
            while let Some(message) = neighbor.from.try_pop() {
                count += 1;
                match message {
                    Message::Migrated(arrival, payload) => {
                        let adoption = backend.adopt(arrival);
                        match adoption {
                            Adoption::Taken => payloads.keep(&arrival, payload),
                            Adoption::Refused => neighbor.tell(Message::Refused(arrival, payload)),
                        }
                        if let Some(recorder) = recorder {
                            recorder.adopt(now, arrival, adoption);
                        }
                    }
                    Message::Refused(arrival, payload) => {
                        neighbor.away -= 1;
                        payloads.keep(&arrival, payload);
                        let waits_again = backend.handle_refused(by, arrival);
                        if let Some(recorder) = recorder {
                            recorder.sent_back(now, by, arrival, waits_again);
                        }
                    }
                    Message::Returned(served) => {
                        neighbor.away -= 1;
                        payloads.release(served.lease);
                        let outcome = backend.handle_returned(by, served.slots);
                        if let Some(recorder) = recorder {
                            recorder.returned(now, by, served.slots, outcome);
                        }
                        transport.ended(served.snid, served.answer);
                    }
                }
            }
        }
        count
    }

    /// Publishes the queue's length and, once a period, hands RPCs to the groups that the manager
    /// chooses.
    #[inline]
    pub(super) fn hand_over(&mut self, now: Timestamp) {
        let Intake { backend, neighbors: Some(neighbors), payloads, recorder, .. } = &mut self.intake else { return };
        let waiting = backend.queue_depth();
        neighbors.publish(waiting);
        if neighbors.manager.poll_timeout() > now {
            return;
        }
        let Neighbors { manager, lengths, list, .. } = &mut **neighbors;
        let (is_logged, mut read) = (recorder.is_some() && waiting > manager.threshold(), Vec::new());
        let published = |other: GroupId| {
            let length = lengths[other.index()].load(Ordering::Relaxed);
            if is_logged {
                read.push((other, length));
            }
            length
        };
        let batch = manager.batch();
        let migrations = manager.decide(now, waiting, published);
        // Below the threshold nothing is read and no RPC moves.
        if let Some(recorder) = recorder.as_mut().filter(|_| is_logged) {
            recorder.manage(now, waiting, read, migrations);
        }
        for migration in migrations {
            let Some(neighbor) = &mut list[migration.to.index()] else { continue };
            for place in 1..=migration.count.min(AWAY_MAX - neighbor.away) {
                let taken = backend.take_newest_waiting(migration.to);
                if let Some(recorder) = recorder {
                    recorder.take(now, migration.to, taken);
                }
                let Some(arrival) = taken else { break };
                neighbor.away += 1;
                neighbor.add(Message::Migrated(arrival, payloads.take(&arrival)));
                if place.is_multiple_of(batch) {
                    neighbor.send();
                }
            }
            neighbor.send();
        }
        neighbors.publish(backend.queue_depth());
    }
}
