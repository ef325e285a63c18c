//! One-sided operations, in real time: an engine decides about them, and carries them out on memory
//! that the server registered. They need no admission, no slots and no worker.

use crate::config::server::ServerConfig;
use crate::rpc::region::Registered;
use nebula_nic::{
    ACCESS_BYTES, Access, AccessKind, AccessRefusal, BLOCK_BYTES, DomainId, REGIONS_MAX, RegionError, RegionId,
    RegionTable, RegionWindow, Registration,
};
use nebula_sys::window;

pub(crate) const OPERATION_BYTES_MAX: usize = ACCESS_BYTES + BLOCK_BYTES as usize;
/// Bytes of an answer's status, and of the version that follows it after a versioned read.
pub(crate) const STATUS_BYTES: usize = 8;
pub(crate) const ANSWER_BYTES_MAX: usize = 2 * STATUS_BYTES + BLOCK_BYTES as usize;
/// The longest answer, as clients provision it.
pub(crate) const ROOM_BYTES: u32 = 80;

const _: () = assert!(ROOM_BYTES as usize == ANSWER_BYTES_MAX);

/// Attempts to read an object that is being written, before the read is refused as torn.
const TRIES: u32 = 4;

pub(crate) type OperationAnswer = ([u8; ANSWER_BYTES_MAX], usize);

/// An operation and the bytes that it writes, or why it is invalid.
pub(crate) type Decoded<'m> = Result<(Access, &'m [u8]), AccessRefusal>;

/// Whether an operation changes memory: then it must be remembered where it may come twice.
#[inline]
pub(crate) fn changes(decoded: Decoded<'_>) -> bool {
    !matches!(decoded, Ok((Access { kind: AccessKind::Read { .. }, .. }, _)))
}

#[derive(Clone, Debug)]
pub(crate) struct OneSided {
    table: RegionTable,
    regions: Box<[Registered]>,
    domain: DomainId,
    pub(crate) done: u64,
    pub(crate) refused: u64,
}

impl OneSided {
    /// The server's configured regions, in order: the first is region 0.
    pub(crate) fn try_new(config: &ServerConfig) -> Result<Self, RegionError> {
        let domain = DomainId(config.domain.into());
        let mut table = RegionTable::new(REGIONS_MAX.min(u16::try_from(config.regions.len()).unwrap_or(u16::MAX)));
        for Registered { region, rights, .. } in &config.regions {
            let (base, bytes) = (region.base() as u64, region.bytes() as u64);
            table.register(Registration { domain, base, bytes, rights: *rights })?;
        }
        Ok(Self { table, regions: config.regions.clone().into(), domain, done: 0, refused: 0 })
    }

    /// Decides about a [decoded](Access::decode) operation, carries it out, and returns the answer.
    #[inline]
    pub(crate) fn execute(&mut self, decoded: Decoded<'_>) -> OperationAnswer {
        let mut answer = [0; ANSWER_BYTES_MAX];
        match decoded.and_then(|(access, data)| self.carry_out(&access, data, &mut answer)) {
            Ok(bytes) => {
                self.done += 1;
                (answer, bytes)
            }
            Err(refusal) => {
                self.refused += 1;
                answer[0] = refusal.code();
                (answer, STATUS_BYTES)
            }
        }
    }

    #[inline]
    fn carry_out(
        &mut self,
        access: &Access,
        data: &[u8],
        answer: &mut [u8; ANSWER_BYTES_MAX],
    ) -> Result<usize, AccessRefusal> {
        let place = access.region.place();
        if self.regions.get(place).is_some_and(Registered::is_revoked) {
            self.table.revoke(access.region);
        }
        let found = self.table.decide(self.domain, access)?;
        let words = self.regions[place].region.words();
        let (offset, bytes) = (index(found.offset)?, found.bytes as usize);
        match access.kind {
            AccessKind::Read { .. } => read(words, found, offset, answer),
            AccessKind::Write => {
                window::store(words, offset, data);
                Ok(STATUS_BYTES)
            }
            AccessKind::CompareSwap { expected, desired } => {
                let there = window::compare_swap(words, offset, expected, desired);
                answer[STATUS_BYTES..STATUS_BYTES + bytes].copy_from_slice(&there.to_le_bytes());
                Ok(STATUS_BYTES + bytes)
            }
            _ => Err(AccessRefusal::Malformed),
        }
    }
}

#[inline]
fn read(
    words: &[nebula_sys::sync::AtomicU64],
    found: RegionWindow,
    offset: usize,
    answer: &mut [u8; ANSWER_BYTES_MAX],
) -> Result<usize, AccessRefusal> {
    let bytes = found.bytes as usize;
    let Some(version_at) = found.version else {
        window::load(words, offset, &mut answer[STATUS_BYTES..STATUS_BYTES + bytes]);
        return Ok(STATUS_BYTES + bytes);
    };
    let (version_at, end) = (index(version_at)?, 2 * STATUS_BYTES + bytes);
    for _ in 0..TRIES {
        if let Some(version) = window::load_whole(words, version_at, offset, &mut answer[2 * STATUS_BYTES..end]) {
            answer[STATUS_BYTES..2 * STATUS_BYTES].copy_from_slice(&version.to_le_bytes());
            return Ok(end);
        }
        std::hint::spin_loop();
    }
    Err(AccessRefusal::Torn)
}

fn index(offset: u64) -> Result<usize, AccessRefusal> {
    usize::try_from(offset).map_err(|_| AccessRefusal::Bounds)
}

pub(crate) fn id_of(nth: usize) -> RegionId {
    RegionId(u32::try_from(nth).unwrap_or(u32::MAX))
}
