//! Samples of single RPCs, with the times that the server knows: the latest, and recent slow ones.

use super::layout::{LATEST, SAMPLE_WORDS, SAMPLES, SAMPLES_AT, SLOW};
use nebula_nic::{NodeId, RpcKey, Span, TransferId};
use nebula_sys::sync::{AtomicU64, Ordering};

/// One RPC and its times at the [stations](nebula_nic) that the server sees, in picoseconds of the
/// server's own clock: another process can use only their differences.
///
/// Stations 1 and 11 are at the client. An engine reads its clock once a turn, so stations 2 to 6
/// have one time: the turn in which the RPC became complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RpcSample {
    /// The client, and its number for the RPC.
    pub rpc: RpcKey,
    /// The worker that served it.
    pub worker: u16,
    /// Bytes of the request.
    pub bytes: u32,
    /// RPCs served in one run with it.
    pub run: u32,
    /// Stations 2 to 6: it has arrived and waits.
    pub arrived_ps: u64,
    /// Station 7: it was given to a core.
    pub given_ps: u64,
    /// Station 8: whether its payload had been fetched before the core began it.
    pub is_steered: bool,
    /// Station 9: the core began it.
    pub begun_ps: u64,
    /// Station 10: the handler had returned, and its slots went back.
    pub ended_ps: u64,
}

impl RpcSample {
    /// From its arrival to its end.
    #[must_use]
    pub fn latency(&self) -> Span {
        Span::from_ps(self.ended_ps.saturating_sub(self.arrived_ps))
    }

    /// From its arrival to its beginning.
    #[must_use]
    pub fn waiting(&self) -> Span {
        Span::from_ps(self.begun_ps.saturating_sub(self.arrived_ps))
    }

    fn to_words(self) -> [u64; SAMPLE_WORDS - 1] {
        [
            u64::from(self.rpc.snid.0) << 32 | u64::from(self.rpc.tid.0),
            u64::from(self.bytes) << 32 | u64::from(self.is_steered) << 31 | u64::from(self.run),
            self.arrived_ps,
            self.given_ps,
            self.begun_ps,
            self.ended_ps,
            0,
        ]
    }

    #[expect(clippy::cast_possible_truncation, reason = "halves of words")]
    fn from_words(worker: u16, words: [u64; SAMPLE_WORDS - 1]) -> Self {
        let [key, sizes, arrived_ps, given_ps, begun_ps, ended_ps, _] = words;
        Self {
            rpc: RpcKey { snid: NodeId((key >> 32) as u32), tid: TransferId(key as u32) },
            worker,
            bytes: (sizes >> 32) as u32,
            run: sizes as u32 & 0x7FFF_FFFF,
            is_steered: sizes >> 31 & 1 == 1,
            arrived_ps,
            given_ps,
            begun_ps,
            ended_ps,
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "below the number of places")]
pub(super) const fn latest_at(number: u64) -> usize {
    SAMPLES_AT + (number % LATEST as u64) as usize * SAMPLE_WORDS
}

#[expect(clippy::cast_possible_truncation, reason = "below the number of places")]
pub(super) const fn slow_at(number: u64) -> usize {
    SAMPLES_AT + (LATEST + (number % SLOW as u64) as usize) * SAMPLE_WORDS
}

/// Writes a sample. Its first word is 0 meanwhile, and `number` + 1 once it is complete.
pub(super) fn write(words: &[AtomicU64], at: usize, number: u64, sample: RpcSample) {
    let Some([first, others @ ..]) = words.get(at..).and_then(<[AtomicU64]>::first_chunk::<SAMPLE_WORDS>) else {
        return;
    };
    // Release of each word: a reader that sees it also sees the 0 before.
    first.store(0, Ordering::Release);
    for (word, value) in others.iter().zip(sample.to_words()) {
        word.store(value, Ordering::Release);
    }
    first.store(number + 1, Ordering::Release);
}

pub(super) fn read(worker: u16, load: impl Fn(usize) -> Option<u64>) -> Vec<RpcSample> {
    (0..SAMPLES).filter_map(|place| read_one(worker, SAMPLES_AT + place * SAMPLE_WORDS, &load)).collect()
}

fn read_one(worker: u16, at: usize, load: &impl Fn(usize) -> Option<u64>) -> Option<RpcSample> {
    let number = load(at).filter(|&number| number > 0)?;
    let mut words = [0; SAMPLE_WORDS - 1];
    for (index, word) in words.iter_mut().enumerate() {
        *word = load(at + 1 + index)?;
    }
    // Overwritten meanwhile: not a sample.
    (load(at) == Some(number)).then(|| RpcSample::from_words(worker, words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_what_is_half_written_is_not() {
        let words: Vec<AtomicU64> = (0..SAMPLE_WORDS).map(|_| AtomicU64::new(0)).collect();
        let load = |at: usize| words.get(at.wrapping_sub(SAMPLES_AT)).map(|word| word.load(Ordering::Acquire));
        assert_eq!(read_one(3, SAMPLES_AT, &load), None);
        let sample = RpcSample {
            rpc: RpcKey { snid: NodeId(0x8001_0002), tid: TransferId(77) },
            worker: 3,
            bytes: u32::MAX,
            run: 64,
            arrived_ps: 1,
            given_ps: 2,
            is_steered: true,
            begun_ps: 3,
            ended_ps: 9,
        };
        write(&words, 0, 0, sample);
        assert_eq!(read_one(3, SAMPLES_AT, &load), Some(sample));
        assert_eq!((sample.latency(), sample.waiting()), (Span::from_ps(8), Span::from_ps(2)));
        words[0].store(0, Ordering::Release);
        assert_eq!(read_one(3, SAMPLES_AT, &load), None);
    }
}
