//! Datagrams for one peer: messages packed into datagrams of one length, sent by one call.
//!
//! A message goes into the open datagram if it fits; otherwise that one is filled up with zeros,
//! and the next begins. Only the last may be shorter, as UDP segmentation offload requires.

use super::frame::Frame;
use super::message::Message;
use super::seal::Seal;

/// The most datagrams and bytes of a train: the limits of one system call.
const DATAGRAMS_MAX: usize = 64;
const BYTES_MAX: usize = 65_000;

#[derive(Debug)]
pub(crate) struct Train {
    buffer: Box<[u8]>,
    frame: Option<Frame>,
    segment: usize,
    /// Where the open datagram begins, and where its next message goes.
    start: usize,
    end: usize,
    lead: usize,
    tail: usize,
    is_empty: bool,
}

impl Train {
    /// An empty train of datagrams closed by `seal`. Allocates only here.
    pub(crate) fn new(seal: &Seal) -> Self {
        let (lead, tail) = (seal.lead_bytes(), seal.tail_bytes());
        let buffer = vec![0; BYTES_MAX].into();
        Self { buffer, frame: None, segment: 0, start: 0, end: 0, lead, tail, is_empty: true }
    }

    #[inline]
    pub(crate) fn begin(&mut self, frame: Frame, datagram_bytes: usize) {
        self.segment = datagram_bytes.clamp(self.lead + self.tail, BYTES_MAX);
        (self.frame, self.start, self.end, self.is_empty) = (Some(frame), 0, self.lead, true);
    }

    /// Adds a message; `false` if it does not fit: send the train, and begin another.
    #[inline(always)]
    #[must_use]
    pub(crate) fn push(&mut self, message: &Message<'_>) -> bool {
        self.push_by(message.len(), |room| message.encode(room))
    }

    #[inline(always)]
    #[must_use]
    pub(crate) fn push_by(&mut self, len: usize, encode: impl FnOnce(&mut [u8])) -> bool {
        if self.end + len + self.tail > self.start + self.segment && !self.open_next(len) {
            return false;
        }
        let end = self.end + len;
        if end + self.tail > BYTES_MAX {
            return false;
        }
        let Some(room) = self.buffer.get_mut(self.end..end) else { return false };
        encode(room);
        (self.end, self.is_empty) = (end, false);
        true
    }

    /// Fills up the open datagram and opens the next, if that fits a message of `len` bytes.
    fn open_next(&mut self, len: usize) -> bool {
        let start = self.start + self.segment;
        let fits_datagram = self.lead + len + self.tail <= self.segment;
        let fits_train = start / self.segment < DATAGRAMS_MAX && start + self.lead + len + self.tail <= BYTES_MAX;
        if self.is_empty || !fits_datagram || !fits_train {
            return false;
        }
        self.buffer[self.end..start - self.tail].fill(0);
        (self.start, self.end) = (start, start + self.lead);
        true
    }

    /// Closes the datagrams; returns their bytes, and the length of each but the last. `None`
    /// without a message, or without the key to seal them.
    #[inline]
    pub(crate) fn close(&mut self, seal: &mut Seal) -> Option<(&[u8], usize)> {
        let frame = self.frame.take().filter(|_| !self.is_empty)?;
        let bytes = self.end + self.tail;
        let mut datagrams = self.buffer[..bytes].chunks_mut(self.segment);
        let is_closed = datagrams.all(|datagram| seal.close(&frame, datagram));
        self.is_empty = true;
        is_closed.then_some((&self.buffer[..bytes], self.segment.min(bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::frame::FrameKind;
    use super::super::message::Messages;
    use super::*;
    use crate::config::key::Key;
    use crate::rpc::recipient::{Cover, KeyId};
    use nebula_nic::{NodeId, TransferId};

    const FRAME: Frame = Frame {
        kind: FrameKind::Server,
        domain: 0,
        incarnation: 1,
        snid: NodeId(2),
        datagram_bytes: 0,
        word: 0,
        cover: Cover { secret: 0, key: KeyId(0) },
    };

    fn sealed() -> Seal {
        Seal::new(&Key::new([3; 32]).into(), [7; 16])
    }

    fn reply(tid: u32, payload: &[u8]) -> Message<'_> {
        let rpc_bytes = u32::try_from(payload.len()).unwrap();
        Message::Reply { tid: TransferId(tid), rpc_bytes, pkt_idx: 0, payload }
    }

    #[test]
    fn messages_come_out_of_datagrams_in_the_order_in_which_they_went_in() {
        for mut seal in [Seal::Plain, sealed()] {
            let mut train = Train::new(&seal);
            nebula_testing::seeded(|u| {
                train.begin(FRAME, u.int_in_range(300..=2000)?);
                let lens: Vec<usize> =
                    u.arbitrary_iter::<u8>()?.map(|len| len.map(usize::from)).collect::<Result<_, _>>()?;
                let payload = [5; 256];
                let mut sent = Vec::new();
                for (tid, &len) in (0..).zip(&lens) {
                    let len = len.min(200);
                    if !train.push(&reply(tid, &payload[..len])) {
                        break;
                    }
                    sent.push((tid, len));
                }
                let mut received = Vec::new();
                if let Some((bytes, segment)) = train.close(&mut seal) {
                    assert!(bytes.len() <= BYTES_MAX && bytes.len().div_ceil(segment) <= DATAGRAMS_MAX);
                    for datagram in bytes.to_vec().chunks_mut(segment) {
                        let (frame, body) = seal.open(datagram, 0).unwrap();
                        assert_eq!(frame, FRAME);
                        for message in Messages::new(body) {
                            let Ok(Message::Reply { tid, payload, .. }) = message else { panic!("{message:?}") };
                            received.push((tid.0, payload.len()));
                        }
                    }
                }
                assert_eq!(received, sent);
                Ok(())
            });
        }
    }

    #[test]
    fn a_message_that_no_datagram_holds_is_refused_and_a_train_has_an_end() {
        let mut seal = Seal::Plain;
        let mut train = Train::new(&seal);
        train.begin(FRAME, 200);
        assert!(!train.push(&reply(0, &[0; 200])), "longer than a datagram");
        assert!(train.close(&mut seal).is_none());
        train.begin(FRAME, 1232);
        let fitted = (0..1000).take_while(|&tid| train.push(&reply(tid, &[0; 1088]))).count();
        assert_eq!(fitted, BYTES_MAX / 1232);
    }

    #[test]
    fn the_last_datagram_of_a_full_train_has_room_for_its_tag() {
        for segment in 9_000..9_100 {
            let mut seal = sealed();
            let mut train = Train::new(&seal);
            train.begin(FRAME, segment);
            let fitted = (0..u32::MAX).take_while(|&tid| train.push(&reply(tid, &[0; 5]))).count();
            let (bytes, segment) = train.close(&mut seal).unwrap();
            let datagrams: Vec<_> = bytes.chunks(segment).map(<[u8]>::to_vec).collect();
            let read: usize = datagrams
                .into_iter()
                .map(|mut datagram| Messages::new(seal.open(&mut datagram, 0).unwrap().1).count())
                .sum();
            assert_eq!(read, fitted);
        }
    }
}
