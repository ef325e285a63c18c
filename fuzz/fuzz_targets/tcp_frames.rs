//! Any bytes as a stream of frames over TCP, in pieces of any length: cut as by a slow and obvious
//! reader, and never buffered beyond a bound.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nebula::net::{FRAME_BYTES_MAX, Frames, PREFIX_BYTES};

fuzz_target!(|input: &[u8]| {
    let &[piece, most, ref stream @ ..] = input else { return };
    let (piece, most) = (usize::from(piece) + 1, usize::from(most % 4) + 1);
    let (expected, is_bad) = naive(stream);
    let (mut frames, mut seen) = (Frames::default(), Vec::new());
    let mut taken = Ok(0);
    for fresh in stream.chunks(piece) {
        let mut fresh = fresh.to_vec();
        loop {
            taken = frames.take(&mut fresh, most, &mut |frame| seen.push(frame.to_vec()));
            fresh.clear();
            // Fewer than requested means all that are complete.
            if taken.is_ok_and(|taken| taken < most) {
                assert!(frames.kept_bytes() < PREFIX_BYTES + FRAME_BYTES_MAX);
                break;
            }
            if taken.is_err() {
                break;
            }
        }
        if taken.is_err() {
            break;
        }
    }
    assert_eq!((seen, taken.is_err()), (expected, is_bad));
});

/// The frames of a stream, and whether it ends with an invalid one.
fn naive(mut stream: &[u8]) -> (Vec<Vec<u8>>, bool) {
    let mut frames = Vec::new();
    loop {
        let &[a, b, c, d, ref rest @ ..] = stream else { return (frames, false) };
        let bytes = u32::from_le_bytes([a, b, c, d]) as usize;
        if bytes == 0 || bytes > 65_507 {
            return (frames, true);
        }
        if rest.len() < bytes {
            return (frames, false);
        }
        frames.push(rest[..bytes].to_vec());
        stream = &rest[bytes..];
    }
}
