//! The handler: executes one request of a memcached client on the store, and writes memcached's
//! answer.

use super::bounds::{ANSWER_BYTES_MAX, VERSION};
use super::get::{LineSink, push_number};
use super::seconds::Seconds;
use super::stats::{Count, Counters, Facts, Told};
use crate::kv::service::counters;
use nebula::{Description, Reply, Requests, Service, Stage};
use nebula_kvs::{Condition, Delta, End, NumberOutcome, Put, PutOutcome, SetError, Store};
use nebula_kvs::{DeleteOutcome, KeyHash};
use nebula_memcached::request::{self, Get, Request, Verb};
use nebula_memcached::{KEY_BYTES_MAX, answer, fits, time};
use std::cell::RefCell;
use std::sync::Arc;

/// A longer answer buffer is freed after use.
const KEPT_BYTES: usize = 256 << 10;
/// Bytes of key and value to prefetch.
const ITEM_BYTES: usize = 256;

thread_local! {
    /// The answer in progress.
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

pub(in crate::kv) struct MemcachedService {
    pub(super) store: Arc<Store>,
    pub(super) seconds: Seconds,
    pub(super) counters: Arc<Counters>,
    facts: Arc<Facts>,
}

impl MemcachedService {
    pub(in crate::kv) fn new(store: Arc<Store>, facts: Arc<Facts>) -> Self {
        Self { store, seconds: Seconds::new(), counters: Arc::default(), facts }
    }

    pub(super) fn expires(&self, exptime: i32, now: u32) -> u32 {
        let unix_now = if exptime > time::RELATIVE_MAX { Seconds::unix_now() } else { 0 };
        time::expires(exptime, now, unix_now)
    }

    fn told(&self) -> Told<'_> {
        let Self { store, seconds, counters, facts } = self;
        Told { counters, facts, store, seconds }
    }

    #[inline]
    fn answer(&self, request: &[u8], now: u32, out: &mut Vec<u8>) {
        match Request::parse(request) {
            Request::Get(get) => self.get(&get, now, out),
            other => self.execute(other, now, out),
        }
    }

    #[inline(never)]
    fn execute(&self, request: Request<'_>, now: u32, out: &mut Vec<u8>) {
        let (said, noreply) = match request {
            Request::Get(get) => return self.get(&get, now, out),
            Request::Meta(meta) => return self.meta(&meta, now, out),
            Request::Number { key, delta, is_decrement, noreply } => {
                let delta = if is_decrement { Delta::Down(delta) } else { Delta::Up(delta) };
                self.number(key, delta, now, out);
                if noreply {
                    out.clear();
                }
                return;
            }
            Request::Stats(about) => return self.told().stats(about, now, out),
            Request::MetaDump => return self.told().meta_dump(now, out),
            Request::Version => {
                out.extend_from_slice(format!("VERSION {VERSION}\r\n").as_bytes());
                return;
            }
            Request::Store(store) => (self.store(&store, now), store.noreply),
            Request::Delete { key, noreply } => (self.delete(key, now), noreply),
            Request::Touch { key, exptime, noreply } => (self.touch(key, exptime, now), noreply),
            Request::FlushAll { delay, noreply } => (self.flush_all(delay, now), noreply),
            Request::Verbosity { noreply } => (answer::OK, noreply),
            Request::MetaNoop => (answer::META_NOOP, false),
            Request::Refused { answer, noreply } => (answer, noreply),
        };
        if !noreply {
            out.extend_from_slice(said);
        }
    }

    #[inline]
    fn get(&self, get: &Get<'_>, now: u32, out: &mut Vec<u8>) {
        let (mut asked, mut hits) = (0, 0);
        for key in get.keys {
            if key.len() > KEY_BYTES_MAX {
                out.clear();
                return out.extend_from_slice(answer::BAD_LINE);
            }
            asked += 1;
            let mut sink = LineSink::new(out, key);
            let hash = Store::hash(key);
            let found = match get.exptime {
                None => self.store.get_item(hash, key, now, &mut sink),
                Some(exptime) => self.store.get_and_touch(hash, key, self.expires(exptime, now), now, &mut sink),
            };
            match found {
                Some(meta) => {
                    hits += 1;
                    sink.end(&meta, get.with_cas);
                }
                None => sink.undo(),
            }
            if out.len() > ANSWER_BYTES_MAX as usize - answer::END.len() {
                out.clear();
                return out.extend_from_slice(answer::NO_MEMORY_TO_ANSWER);
            }
        }
        self.counters.add(Count::Get, asked);
        self.counters.add(Count::GetHit, hits);
        if get.exptime.is_some() {
            self.counters.add(Count::Touch, asked);
            self.counters.add(Count::TouchHit, hits);
        }
        out.extend_from_slice(answer::END);
    }

    fn store(&self, request: &request::Store<'_>, now: u32) -> &'static [u8] {
        let &request::Store { verb, key, flags, exptime, cas, value, is_whole, .. } = request;
        if !is_whole {
            return answer::BAD_DATA;
        }
        self.counters.add(Count::Set, 1);
        let hash = Store::hash(key);
        let Some(value) = value.filter(|value| fits(key.len(), value.len())) else {
            return self.too_large(hash, key);
        };
        let outcome = match verb {
            Verb::Append | Verb::Prepend => {
                let end = if verb == Verb::Append { End::Back } else { End::Front };
                return said_of_concat(self.concat((hash, key), value, end, None, now));
            }
            Verb::Set => Condition::Always,
            Verb::Add => Condition::Absent,
            Verb::Replace => Condition::Present,
            Verb::Cas => Condition::Cas(cas),
        };
        let put = Put { condition: outcome, flags, expires: self.expires(exptime, now), now, ..Put::default() };
        let outcome = self.store.put(hash, key, value, put);
        if verb == Verb::Cas {
            self.count_cas(&outcome);
        }
        match outcome {
            Ok(PutOutcome::Stored { .. }) => answer::STORED,
            Ok(PutOutcome::NotStored) => answer::NOT_STORED,
            Ok(PutOutcome::Exists) => answer::EXISTS,
            Ok(PutOutcome::NotFound) => answer::NOT_FOUND,
            Err(SetError::ItemBytes { .. } | SetError::ValueBytes { .. }) => self.too_large(hash, key),
            Err(_) => answer::NO_MEMORY,
        }
    }

    pub(super) fn too_large(&self, hash: KeyHash, key: &[u8]) -> &'static [u8] {
        // Otherwise readers would take the old value for the new one.
        self.store.delete(hash, key);
        answer::TOO_LARGE
    }

    /// Appends or prepends to a value; stores nothing if the result would be too long.
    pub(super) fn concat(
        &self,
        (hash, key): (KeyHash, &[u8]),
        value: &[u8],
        end: End,
        cas: Option<u64>,
        now: u32,
    ) -> Result<PutOutcome, SetError> {
        let before = self.store.peek(hash, key, now).map_or(0, |meta| meta.value_bytes as usize);
        if !fits(key.len(), value.len() + before) {
            return Ok(PutOutcome::NotStored);
        }
        match self.store.concat(hash, key, value, end, cas, now) {
            Err(SetError::ValueBytes { .. }) => Ok(PutOutcome::NotStored),
            outcome => outcome,
        }
    }

    fn count_cas(&self, outcome: &Result<PutOutcome, SetError>) {
        match outcome {
            Ok(PutOutcome::Stored { .. }) => self.counters.add(Count::CasHit, 1),
            Ok(PutOutcome::Exists) => self.counters.add(Count::CasBad, 1),
            Ok(PutOutcome::NotFound) => self.counters.add(Count::CasMiss, 1),
            _ => {}
        }
    }

    fn delete(&self, key: &[u8], now: u32) -> &'static [u8] {
        match self.store.delete_item(Store::hash(key), key, None, now) {
            DeleteOutcome::Deleted => {
                self.counters.add(Count::DeleteHit, 1);
                answer::DELETED
            }
            DeleteOutcome::NotFound | DeleteOutcome::Exists => {
                self.counters.add(Count::DeleteMiss, 1);
                answer::NOT_FOUND
            }
        }
    }

    fn touch(&self, key: &[u8], exptime: i32, now: u32) -> &'static [u8] {
        self.counters.add(Count::Touch, 1);
        if self.store.touch(Store::hash(key), key, self.expires(exptime, now), now) {
            self.counters.add(Count::TouchHit, 1);
            answer::TOUCHED
        } else {
            answer::NOT_FOUND
        }
    }

    fn flush_all(&self, delay: i32, now: u32) -> &'static [u8] {
        self.counters.add(Count::Flush, 1);
        let at = self.expires(delay, now);
        self.store.flush_all(if at <= 1 { now } else { at }, now);
        answer::OK
    }

    fn number(&self, key: &[u8], delta: Delta, now: u32, out: &mut Vec<u8>) {
        let (hit, miss) = match delta {
            Delta::Up(_) => (Count::IncrementHit, Count::IncrementMiss),
            Delta::Down(_) => (Count::DecrementHit, Count::DecrementMiss),
        };
        match self.store.add_to_number(Store::hash(key), key, delta, None, now) {
            Ok(NumberOutcome::Stored { number, .. }) => {
                self.counters.add(hit, 1);
                push_number(out, number);
                out.extend_from_slice(b"\r\n");
            }
            Ok(NumberOutcome::NotANumber) => out.extend_from_slice(answer::NO_NUMBER),
            Ok(NumberOutcome::NotFound | NumberOutcome::Exists) => {
                self.counters.add(miss, 1);
                out.extend_from_slice(answer::NOT_FOUND);
            }
            Err(_) => out.extend_from_slice(answer::NO_MEMORY),
        }
    }

    #[inline]
    fn serve_at(&self, request: &[u8], now: u32, reply: &mut Reply<'_>) {
        ANSWER.with_borrow_mut(|out| {
            out.clear();
            self.answer(request, now, out);
            reply.write(out);
            if out.capacity() > KEPT_BYTES {
                *out = Vec::new();
            }
        });
    }
}

fn said_of_concat(outcome: Result<PutOutcome, SetError>) -> &'static [u8] {
    match outcome {
        Ok(PutOutcome::Stored { .. }) => answer::STORED,
        Ok(_) => answer::NOT_STORED,
        Err(_) => answer::NO_MEMORY,
    }
}

impl Service for MemcachedService {
    #[inline]
    fn serve(&self, request: &[u8], reply: &mut Reply<'_>) {
        self.serve_at(request, self.seconds.now(), reply);
    }

    /// Reads the clock once for the burst, and prefetches the items of later requests.
    fn serve_burst(&self, requests: &mut Requests<'_>) {
        let now = self.seconds.now();
        if requests.may_prefetch() {
            for stage in [Stage::Arrived, Stage::Next] {
                (0..requests.len()).for_each(|ahead| self.prefetch(requests.peek(ahead), stage));
            }
        }
        requests.for_each(|request, reply| self.serve_at(request, now, reply));
    }

    fn describe(&self) -> Description {
        let (store, counted) = (self.store.clone(), self.counters.clone());
        Description::default()
            .reply_bytes_max(ANSWER_BYTES_MAX)
            .prefetches(true)
            .store(move || counters(&store.stats(), counted.lookups()))
    }

    #[inline]
    fn prefetch(&self, request: &[u8], stage: Stage) {
        let Some(key) = first_key(request) else { return };
        let hash = Store::hash(key);
        match stage {
            Stage::Arrived => self.store.prefetch_bucket(hash),
            Stage::Next => self.store.prefetch_entry(hash, ITEM_BYTES),
        }
    }
}

/// The probable first key of a request: its second word.
#[inline]
fn first_key(request: &[u8]) -> Option<&[u8]> {
    let begin = request.iter().take(8).position(|&byte| byte == b' ')? + 1;
    let behind = &request[begin..];
    let end = behind.iter().take(KEY_BYTES_MAX + 1).position(|&byte| byte <= b' ')?;
    Some(&behind[..end]).filter(|key| !key.is_empty())
}
