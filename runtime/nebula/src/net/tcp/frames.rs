//! Frames in a stream of bytes.

/// Bytes of a frame's length prefix, a little-endian integer.
pub const PREFIX_BYTES: usize = 4;
/// The longest datagram of a frame, in bytes: as over UDP.
pub const FRAME_BYTES_MAX: usize = 65_507;
/// The default bound on a sent datagram, as on the loopback network.
pub(super) const DATAGRAM_BYTES: usize = 16 << 10;
/// The capacity that is kept while nothing is incomplete.
const ROOM_BYTES: usize = 4 << 10;

/// A frame with an invalid length: the next frame's beginning is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a frame of {bytes} bytes cannot be read: expected 1 to {FRAME_BYTES_MAX}")]
pub struct BadFrame {
    /// The length in its prefix, in bytes.
    pub bytes: u32,
}

/// Cuts a stream into frames, and keeps the incomplete one.
///
/// # Examples
///
/// ```
/// use nebula::net::Frames;
///
/// let mut frames = Frames::default();
/// let mut seen = Vec::new();
/// frames.take(&mut [3, 0, 0], 64, &mut |frame| seen.push(frame.to_vec()))?;
/// assert_eq!(frames.kept_bytes(), 3);
/// frames.take(&mut b"\0abc\x01".to_owned(), 64, &mut |frame| seen.push(frame.to_vec()))?;
/// assert_eq!((seen, frames.kept_bytes()), (vec![b"abc".to_vec()], 1));
/// # Ok::<(), nebula::net::BadFrame>(())
/// ```
#[derive(Debug, Default)]
pub struct Frames {
    kept: Vec<u8>,
}

impl Frames {
    /// Visits at most `most` datagrams that `fresh` completes; keeps the rest; returns how many.
    ///
    /// # Errors
    ///
    /// [`BadFrame`], after the frames before it. The rest of the stream is meaningless.
    ///
    /// # Cost
    ///
    /// Copies only the incomplete frame, and the bytes that complete it.
    pub fn take(&mut self, fresh: &mut [u8], most: usize, visit: &mut dyn FnMut(&mut [u8])) -> Result<usize, BadFrame> {
        if self.kept.is_empty() {
            let (bytes, frames) = cut(fresh, most, visit)?;
            self.kept.extend_from_slice(&fresh[bytes..]);
            return Ok(frames);
        }
        self.kept.extend_from_slice(fresh);
        let (bytes, frames) = cut(&mut self.kept, most, visit)?;
        self.kept.drain(..bytes);
        if self.kept.is_empty() && self.kept.capacity() > ROOM_BYTES {
            self.kept = Vec::new();
        }
        Ok(frames)
    }

    /// Bytes that were kept: one incomplete frame, and complete ones beyond `most`.
    #[must_use]
    pub fn kept_bytes(&self) -> usize {
        self.kept.len()
    }

    /// Whether the kept bytes alone hold a complete or an invalid frame.
    pub(super) fn has_whole(&self) -> bool {
        match first(&self.kept) {
            Ok(Some(bytes)) => bytes <= self.kept.len() - PREFIX_BYTES,
            Ok(None) => false,
            Err(_) => true,
        }
    }
}

/// The datagram's length in bytes, if the stream has the whole prefix.
fn first(stream: &[u8]) -> Result<Option<usize>, BadFrame> {
    let Some(prefix) = stream.first_chunk::<PREFIX_BYTES>() else { return Ok(None) };
    let bytes = u32::from_le_bytes(*prefix);
    match usize::try_from(bytes) {
        Ok(length @ 1..=FRAME_BYTES_MAX) => Ok(Some(length)),
        _ => Err(BadFrame { bytes }),
    }
}

/// Visits the datagrams of at most `most` complete frames. Returns their bytes and number.
fn cut(mut stream: &mut [u8], most: usize, visit: &mut dyn FnMut(&mut [u8])) -> Result<(usize, usize), BadFrame> {
    let (mut bytes, mut frames) = (0, 0);
    while frames < most
        && let Some(length) = first(stream)?
        && let Some((frame, rest)) = stream.split_at_mut_checked(PREFIX_BYTES + length)
    {
        visit(&mut frame[PREFIX_BYTES..]);
        (bytes, frames) = (bytes + frame.len(), frames + 1);
        stream = rest;
    }
    Ok((bytes, frames))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn naive(stream: &[u8]) -> (Vec<Vec<u8>>, Option<BadFrame>, usize) {
        let (mut frames, mut at) = (Vec::new(), 0);
        loop {
            let rest = &stream[at..];
            if rest.len() < PREFIX_BYTES {
                return (frames, None, rest.len());
            }
            let bytes = u32::from_le_bytes([rest[0], rest[1], rest[2], rest[3]]);
            if bytes == 0 || bytes > 65_507 {
                return (frames, Some(BadFrame { bytes }), rest.len());
            }
            let end = PREFIX_BYTES + bytes as usize;
            if rest.len() < end {
                return (frames, None, rest.len());
            }
            frames.push(rest[PREFIX_BYTES..end].to_vec());
            at += end;
        }
    }

    /// The frames of a stream that comes in these pieces, `most` at a time.
    fn seen<'p>(pieces: impl Iterator<Item = &'p [u8]>, most: usize) -> (Vec<Vec<u8>>, Option<BadFrame>, usize) {
        let (mut frames, mut visited) = (Frames::default(), Vec::new());
        for piece in pieces {
            let mut fresh = piece.to_vec();
            loop {
                match frames.take(&mut fresh, most, &mut |frame| visited.push(frame.to_vec())) {
                    Ok(_) if frames.has_whole() => fresh.clear(),
                    Ok(_) => break,
                    Err(bad) => return (visited, Some(bad), 0),
                }
            }
        }
        let kept = frames.kept_bytes();
        (visited, None, kept)
    }

    fn framed(datagrams: &[Vec<u8>]) -> Vec<u8> {
        let frame = |datagram: &Vec<u8>| {
            let length = u32::try_from(datagram.len()).unwrap().to_le_bytes();
            [&length[..], &datagram[..]].concat()
        };
        datagrams.iter().flat_map(frame).collect()
    }

    #[test]
    fn frames_are_the_same_wherever_the_stream_is_cut_in_two() {
        let datagrams: Vec<Vec<u8>> = [1, 5, 300, 2].iter().map(|&bytes| vec![0xAB; bytes]).collect();
        let stream = framed(&datagrams);
        for at in 0..=stream.len() {
            let (before, behind) = stream.split_at(at);
            assert_eq!(seen([before, behind].into_iter(), 64), (datagrams.clone(), None, 0), "cut at {at}");
        }
        assert_eq!(seen(stream.chunks(1), 1), (datagrams, None, 0));
    }

    #[test]
    fn any_stream_in_any_pieces_is_cut_as_by_the_naive_reader() {
        nebula_testing::seeded(|u| {
            let mut datagrams: Vec<Vec<u8>> = u.arbitrary()?;
            datagrams.retain(|datagram| !datagram.is_empty());
            let mut stream = framed(&datagrams);
            stream.extend(u.arbitrary::<Vec<u8>>()?);
            let (piece, most) = (u.int_in_range(1..=64)?, u.int_in_range(1..=3)?);
            let (frames, bad, kept) = naive(&stream);
            let (seen_frames, seen_bad, seen_kept) = seen(stream.chunks(piece), most);
            assert_eq!((seen_frames, seen_bad), (frames, bad));
            assert!(bad.is_some() || seen_kept == kept);
            Ok(())
        });
    }

    #[test]
    fn lengths_of_nothing_and_beyond_the_longest_are_no_frames() {
        for bytes in [0, 65_508, u32::MAX] {
            let bad = Frames::default().take(&mut bytes.to_le_bytes(), 64, &mut |_| panic!("no frame"));
            assert_eq!(bad, Err(BadFrame { bytes }));
        }
        let longest = vec![7; FRAME_BYTES_MAX];
        assert_eq!(seen(framed(std::slice::from_ref(&longest)).chunks(1000), 1), (vec![longest], None, 0));
    }
}
