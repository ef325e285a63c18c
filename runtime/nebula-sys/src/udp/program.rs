//! Steps of a program in classic BPF, which the kernel runs for each datagram.

pub(super) const LOAD_BYTE: u32 = libc::BPF_LD | libc::BPF_B | libc::BPF_ABS;
pub(super) const LOAD_HALF: u32 = libc::BPF_LD | libc::BPF_H | libc::BPF_ABS;
pub(super) const LOAD_WORD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
pub(super) const JUMP_IF_EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
/// The offset of the kernel's random numbers: `SKF_AD_OFF + SKF_AD_RANDOM` of `linux/filter.h`.
pub(super) const RANDOM_AT: u32 = (-0x1000_i32 + 56).cast_unsigned();

/// One step. A test that fails skips `otherwise` steps.
pub(super) fn step(code: u32, k: u32, otherwise: u8) -> libc::sock_filter {
    libc::sock_filter { code: u16::try_from(code).unwrap_or(u16::MAX), jt: 0, jf: otherwise, k }
}
