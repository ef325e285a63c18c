//! Many RPCs at once, and their ends.

use nebula::{CallError, Client, SubmitError, Ticket};
use nebula_testing::wait::wait_until;
use std::collections::BTreeMap;

/// The end of an RPC, with a copy of its reply.
pub(crate) type End = (Ticket, Result<Vec<u8>, CallError>);

pub(crate) fn next_end(client: &mut Client) -> Option<End> {
    client.poll().map(|done| (done.ticket, done.result.map(<[u8]>::to_vec)))
}

/// Waits for the ends of `count` RPCs.
pub(crate) fn ends_of(client: &mut Client, count: usize) -> BTreeMap<Ticket, Result<Vec<u8>, CallError>> {
    let mut ends = BTreeMap::new();
    wait_until("the end of each RPC", || {
        while let Some((ticket, result)) = next_end(client) {
            assert!(ends.insert(ticket, result).is_none(), "ended twice");
        }
        (ends.len() >= count).then_some(())
    });
    ends
}

/// Sends `rpcs` RPCs, at most `depth` at once, and checks that each ends once. `request` gets the
/// number of an RPC, `check` a request and its end.
pub(crate) fn exchange(
    client: &mut Client,
    rpcs: usize,
    depth: usize,
    request: impl FnMut(usize) -> Vec<u8>,
    check: impl FnMut(&[u8], Result<&[u8], CallError>),
) {
    exchange_by(client, rpcs, depth, request, check, || ());
}

/// The same, but `turn` runs the server between two looks.
pub(crate) fn exchange_by(
    client: &mut Client,
    rpcs: usize,
    depth: usize,
    mut request: impl FnMut(usize) -> Vec<u8>,
    mut check: impl FnMut(&[u8], Result<&[u8], CallError>),
    mut turn: impl FnMut(),
) {
    let (mut open, mut sent, mut waiting) = (BTreeMap::<Ticket, Vec<u8>>::new(), 0, None);
    while sent < rpcs || !open.is_empty() {
        if sent < rpcs && open.len() < depth {
            let request = waiting.take().unwrap_or_else(|| request(sent));
            match client.submit(&request) {
                Ok(ticket) => {
                    assert!(open.insert(ticket, request).is_none(), "a ticket came twice");
                    sent += 1;
                    continue;
                }
                // Slots become free in order: behind a slow RPC there may be none although others
                // have ended.
                Err(error) => assert_eq!(error, SubmitError::Full),
            }
            waiting = Some(request);
        }
        wait_until("an end", || {
            turn();
            let done = client.poll()?;
            let request = open.remove(&done.ticket).expect("each RPC ends once");
            check(&request, done.result);
            Some(())
        });
    }
    assert_eq!(client.outstanding(), 0);
    assert!(client.poll().is_none(), "an end too many");
}

/// A request of random bytes, of a size in `sizes`.
pub(crate) fn of_sizes(draw: &mut super::draw::Draw, sizes: &[usize]) -> Vec<u8> {
    let size = sizes[draw.below(sizes.len())];
    draw.bytes(size)
}

/// Checks that an RPC was echoed.
pub(crate) fn assert_echo(request: &[u8], end: Result<&[u8], CallError>) {
    assert!(end.as_ref() == Ok(&request), "{} bytes: {:?}", request.len(), end.err());
}
