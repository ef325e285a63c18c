//! Which call an RPC belongs to, by its ticket.

use crate::client::ticket::Ticket;
use std::collections::HashMap;

/// Places for tickets that lie close together: as many as a client has slots by default.
const NEAR: usize = 256;
const NOBODY: u32 = u32::MAX;

/// Tickets of a client are consecutive, and those outstanding mostly lie within its slots. So each
/// has its own place; one whose place is taken is in a hash table.
#[derive(Debug)]
pub(super) struct ByTicket {
    near: Box<[(u64, u32); NEAR]>,
    far: HashMap<u64, u32>,
    count: usize,
}

impl Default for ByTicket {
    fn default() -> Self {
        Self { near: Box::new([(0, NOBODY); NEAR]), far: HashMap::new(), count: 0 }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the remainder is a place")]
fn place(ticket: u64) -> usize {
    ticket as usize % NEAR
}

impl ByTicket {
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.count
    }

    #[inline]
    pub(super) fn insert(&mut self, Ticket(ticket): Ticket, call: u32) {
        self.count += 1;
        let near = &mut self.near[place(ticket)];
        if near.1 == NOBODY {
            *near = (ticket, call);
        } else {
            self.far.insert(ticket, call);
        }
    }

    #[inline]
    pub(super) fn remove(&mut self, Ticket(ticket): Ticket) -> Option<u32> {
        let near = &mut self.near[place(ticket)];
        let call = if near.0 == ticket && near.1 != NOBODY {
            std::mem::replace(&mut near.1, NOBODY)
        } else {
            self.far.remove(&ticket)?
        };
        self.count -= 1;
        Some(call)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn it_is_a_map_whichever_tickets_are_outstanding() {
        nebula_testing::seeded(|u| {
            let (mut table, mut known) = (ByTicket::default(), BTreeMap::new());
            for call in 0..u.int_in_range(1..=200)? {
                let ticket = u.int_in_range(0..=4_u64)? * NEAR as u64 + u.int_in_range(0..=3)?;
                if let std::collections::btree_map::Entry::Vacant(vacant) = known.entry(ticket) {
                    vacant.insert(call);
                    table.insert(Ticket(ticket), call);
                } else {
                    assert_eq!(table.remove(Ticket(ticket)), known.remove(&ticket));
                    assert_eq!(table.remove(Ticket(ticket)), None);
                }
                assert_eq!(table.len(), known.len());
            }
            Ok(())
        });
    }
}
