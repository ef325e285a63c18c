//! The meta commands: one item, with the attributes that the client asks for.

use super::get::push_number;
use super::service::MemcachedService;
use super::stats::Count;
use nebula_kvs::{
    Change, Condition, DeleteOutcome, Delta, End, KeyHash, Mark, NumberOutcome, Put, PutOutcome, SetError,
};
use nebula_kvs::{Meta as Known, Store};
use nebula_memcached::meta::{Key, Kind, Meta, Mode};
use nebula_memcached::{answer, fits};

/// The answer's marks of an item that is to be fetched again.
#[derive(Clone, Copy, Default)]
struct Marks {
    /// This client is to fetch it.
    has_won: bool,
    /// Another client is to fetch it.
    is_sent: bool,
    is_stale: bool,
}

impl MemcachedService {
    pub(super) fn meta(&self, meta: &Meta<'_>, now: u32, out: &mut Vec<u8>) {
        self.counters.add(Count::Meta, 1);
        let hash = Store::hash(meta.key.bytes());
        match meta.kind {
            Kind::Get => self.meta_get(meta, hash, now, out),
            Kind::Set => self.meta_set(meta, hash, now, out),
            Kind::Delete => self.meta_delete(meta, hash, now, out),
            Kind::Arithmetic => self.meta_arithmetic(meta, hash, now, out),
            Kind::Debug => self.meta_debug(meta, hash, now, out),
        }
    }

    fn meta_get(&self, meta: &Meta<'_>, hash: KeyHash, now: u32, out: &mut Vec<u8>) {
        self.counters.add(Count::Get, 1);
        let mut value = Vec::new();
        let Some((known, marks)) = self.look_up(meta, hash, now, &mut value) else {
            if !meta.is_quiet {
                answer_missing(out, b"EN", meta);
            }
            return;
        };
        self.counters.add(Count::GetHit, 1);
        begin(out, meta.with_value.then_some(value.len()));
        push_flags(out, meta, &known, now);
        for (mark, is_set) in [(b'Z', marks.is_sent), (b'X', marks.is_stale), (b'W', marks.has_won)] {
            if is_set {
                out.extend_from_slice(&[b' ', mark]);
            }
        }
        end(out, meta.with_value.then_some(&value));
    }

    /// The item, or a placeholder for a value to come, and its marks.
    fn look_up(&self, meta: &Meta<'_>, hash: KeyHash, now: u32, value: &mut Vec<u8>) -> Option<(Known, Marks)> {
        let key = meta.key.bytes();
        if let Some(found) = self.look_at(meta, (hash, key), now, value) {
            return Some(found);
        }
        let exptime = meta.vivify?;
        let put = Put {
            condition: Condition::Absent,
            expires: self.expires(exptime, now),
            now,
            is_won: true,
            ..Put::default()
        };
        match self.store.put(hash, key, b"", put).ok()? {
            PutOutcome::Stored { .. } => {
                value.clear();
                let known = self.store.peek(hash, key, now)?;
                Some((known, Marks { has_won: true, ..Marks::default() }))
            }
            // Another client was faster.
            _ => self.look_at(meta, (hash, key), now, value),
        }
    }

    fn look_at(
        &self,
        meta: &Meta<'_>,
        (hash, key): (KeyHash, &[u8]),
        now: u32,
        value: &mut Vec<u8>,
    ) -> Option<(Known, Marks)> {
        let changes = meta.exptime.is_some() || meta.recache.is_some();
        if !changes {
            let known = self.store.get_item(hash, key, now, value)?;
            if !known.is_stale || known.is_won {
                let marks = Marks { has_won: false, is_sent: known.is_won, is_stale: known.is_stale };
                return Some((known, marks));
            }
        }
        let expires = meta.exptime.map(|exptime| self.expires(exptime, now));
        let wins = |known: &Known| {
            let left = expires.unwrap_or(known.expires);
            let is_due =
                meta.recache.is_some_and(|least| left > 0 && i64::from(left) - i64::from(now) < i64::from(least));
            (known.is_stale || is_due) && !known.is_won
        };
        let before = self.store.change(hash, key, now, value, |known| Change {
            expires,
            is_won: wins(known).then_some(true),
            is_read: true,
            ..Change::default()
        })?;
        let marks = Marks { has_won: wins(&before), is_sent: before.is_won, is_stale: before.is_stale };
        Some((Known { expires: expires.unwrap_or(before.expires), ..before }, marks))
    }

    fn meta_set(&self, meta: &Meta<'_>, hash: KeyHash, now: u32, out: &mut Vec<u8>) {
        let key = meta.key.bytes();
        if !meta.is_whole {
            return out.extend_from_slice(answer::BAD_DATA);
        }
        self.counters.add(Count::Set, 1);
        let Some(value) = meta.value.filter(|value| fits(key.len(), value.len())) else {
            return out.extend_from_slice(self.too_large(hash, key));
        };
        let (code, cas): (&[u8], _) = match self.put(meta, (hash, key), value, now) {
            Ok(PutOutcome::Stored { cas }) => (b"HD", cas),
            Ok(PutOutcome::NotStored) => (b"NS", 0),
            Ok(PutOutcome::Exists) => (b"EX", 0),
            Ok(PutOutcome::NotFound) => (b"NF", 0),
            Err(SetError::ItemBytes { .. } | SetError::ValueBytes { .. }) => {
                return out.extend_from_slice(self.too_large(hash, key));
            }
            Err(_) => return out.extend_from_slice(answer::NO_MEMORY),
        };
        if code == b"HD" && meta.is_quiet {
            return;
        }
        out.extend_from_slice(code);
        for flag in meta.flags {
            match flag[0] {
                b'c' => {
                    out.extend_from_slice(b" c");
                    push_number(out, cas);
                }
                _ => push_asked(out, flag, &meta.key),
            }
        }
        out.extend_from_slice(b"\r\n");
    }

    fn put(
        &self,
        meta: &Meta<'_>,
        (hash, key): (KeyHash, &[u8]),
        value: &[u8],
        now: u32,
    ) -> Result<PutOutcome, SetError> {
        let condition = match (meta.mode, meta.cas) {
            (Mode::Append, cas) => return self.concat((hash, key), value, End::Back, cas, now),
            (Mode::Prepend, cas) => return self.concat((hash, key), value, End::Front, cas, now),
            (_, Some(cas)) if meta.invalidates => Condition::CasOrStale(cas),
            (_, Some(cas)) => Condition::Cas(cas),
            (Mode::Add, None) => Condition::Absent,
            (Mode::Replace, None) => Condition::Present,
            _ => Condition::Always,
        };
        let expires = self.expires(meta.exptime.unwrap_or(0), now);
        self.store.put(hash, key, value, Put { condition, flags: meta.client_flags, expires, now, ..Put::default() })
    }

    fn meta_delete(&self, meta: &Meta<'_>, hash: KeyHash, now: u32, out: &mut Vec<u8>) {
        let code: &[u8] = match self.delete_or_mark(meta, hash, now) {
            DeleteOutcome::Deleted if meta.is_quiet => return,
            DeleteOutcome::Deleted => b"HD",
            DeleteOutcome::NotFound => b"NF",
            DeleteOutcome::Exists => b"EX",
        };
        answer_missing(out, code, meta);
    }

    fn delete_or_mark(&self, meta: &Meta<'_>, hash: KeyHash, now: u32) -> DeleteOutcome {
        let key = meta.key.bytes();
        if !meta.invalidates {
            return self.store.delete_item(hash, key, meta.cas, now);
        }
        let expires = meta.exptime.map(|exptime| self.expires(exptime, now));
        let is_other = |known: &Known| meta.cas.is_some_and(|cas| cas != known.cas);
        let before = self.store.change(hash, key, now, &mut Nothing, |known| {
            if is_other(known) {
                return Change::default();
            }
            Change { expires, is_stale: Some(true), is_won: Some(false), cas: Some(Mark::New), ..Change::default() }
        });
        match before {
            None => DeleteOutcome::NotFound,
            Some(known) if is_other(&known) => DeleteOutcome::Exists,
            Some(_) => DeleteOutcome::Deleted,
        }
    }

    fn meta_arithmetic(&self, meta: &Meta<'_>, hash: KeyHash, now: u32, out: &mut Vec<u8>) {
        let key = meta.key.bytes();
        let delta = if meta.mode == Mode::Decrement { Delta::Down(meta.delta) } else { Delta::Up(meta.delta) };
        let mut outcome = self.store.add_to_number(hash, key, delta, meta.cas, now);
        if let (Ok(NumberOutcome::NotFound), Some(exptime)) = (&outcome, meta.vivify) {
            let mut text = Vec::new();
            push_number(&mut text, meta.initial);
            let put = Put { condition: Condition::Absent, expires: self.expires(exptime, now), now, ..Put::default() };
            outcome = match self.store.put(hash, key, &text, put) {
                Ok(PutOutcome::Stored { cas }) => Ok(NumberOutcome::Stored { number: meta.initial, cas }),
                // Another client was faster.
                Ok(_) => self.store.add_to_number(hash, key, delta, meta.cas, now),
                Err(error) => Err(error),
            };
        }
        match outcome {
            Ok(NumberOutcome::Stored { number, .. }) => self.answer_number(meta, hash, number, now, out),
            Ok(NumberOutcome::NotFound) => answer_missing(out, b"NF", meta),
            Ok(NumberOutcome::Exists) => answer_missing(out, b"EX", meta),
            Ok(NumberOutcome::NotANumber) => out.extend_from_slice(answer::NO_NUMBER),
            Err(_) => out.extend_from_slice(answer::NO_MEMORY),
        }
    }

    fn answer_number(&self, meta: &Meta<'_>, hash: KeyHash, number: u64, now: u32, out: &mut Vec<u8>) {
        let key = meta.key.bytes();
        let known = match meta.exptime {
            Some(exptime) => {
                let expires = self.expires(exptime, now);
                let before = self.store.get_and_touch(hash, key, expires, now, &mut Nothing);
                before.map(|known| Known { expires, ..known })
            }
            None => self.store.peek(hash, key, now),
        };
        if meta.is_quiet {
            return;
        }
        let mut text = Vec::new();
        push_number(&mut text, number);
        begin(out, meta.with_value.then_some(text.len()));
        push_flags(out, meta, &known.unwrap_or_default(), now);
        end(out, meta.with_value.then_some(&text));
    }

    fn meta_debug(&self, meta: &Meta<'_>, hash: KeyHash, now: u32, out: &mut Vec<u8>) {
        let key = meta.key.bytes();
        let Some(known) = self.store.peek(hash, key, now) else { return out.extend_from_slice(b"EN\r\n") };
        out.extend_from_slice(b"ME ");
        out.extend_from_slice(key);
        // As in memcached: the time since expiry, so a negative one before it.
        let since_expiry = if known.expires == 0 { -1 } else { i64::from(now) - i64::from(known.expires) };
        let since = now.saturating_sub(known.last_access);
        let fetched = if known.is_fetched { "yes" } else { "no" };
        let bytes = key.len() + known.value_bytes as usize + nebula_memcached::ITEM_OVERHEAD_BYTES;
        let rest = format!(" exp={since_expiry} la={since} cas={} fetch={fetched} cls=1 size={bytes}\r\n", known.cas);
        out.extend_from_slice(rest.as_bytes());
    }
}

struct Nothing;

impl nebula_kvs::ValueSink for Nothing {
    fn write(&mut self, _: &[nebula_sys::sync::AtomicU64], _: usize) {}
}

fn begin(out: &mut Vec<u8>, value_bytes: Option<usize>) {
    match value_bytes {
        None => out.extend_from_slice(b"HD"),
        Some(bytes) => {
            out.extend_from_slice(b"VA ");
            push_number(out, bytes as u64);
        }
    }
}

fn end(out: &mut Vec<u8>, value: Option<&Vec<u8>>) {
    out.extend_from_slice(b"\r\n");
    if let Some(value) = value {
        out.extend_from_slice(value);
        out.extend_from_slice(b"\r\n");
    }
}

/// An answer without an item, with the client's own flags.
fn answer_missing(out: &mut Vec<u8>, code: &[u8], meta: &Meta<'_>) {
    out.extend_from_slice(code);
    meta.flags.for_each(|flag| push_asked(out, flag, &meta.key));
    out.extend_from_slice(b"\r\n");
}

/// Repeats a flag that the client sends for itself: opaque or key.
fn push_asked(out: &mut Vec<u8>, flag: &[u8], key: &Key<'_>) {
    match flag[0] {
        b'O' => {
            out.push(b' ');
            out.extend_from_slice(flag);
        }
        b'k' => {
            out.extend_from_slice(b" k");
            out.extend_from_slice(key.written);
            if key.is_base64 {
                out.extend_from_slice(b" b");
            }
        }
        _ => {}
    }
}

fn push_flags(out: &mut Vec<u8>, meta: &Meta<'_>, known: &Known, now: u32) {
    let is_get = meta.kind == Kind::Get;
    for flag in meta.flags {
        let letter = flag[0];
        let number = match letter {
            b't' if known.expires == 0 => {
                out.extend_from_slice(b" t-1");
                continue;
            }
            b't' => u64::from(known.expires.saturating_sub(now)),
            b'c' => known.cas,
            b'f' if is_get => known.flags.into(),
            b's' if is_get => known.value_bytes.into(),
            b'h' if is_get => known.is_fetched.into(),
            b'l' if is_get => now.saturating_sub(known.last_access).into(),
            _ => {
                push_asked(out, flag, &meta.key);
                continue;
            }
        };
        out.extend_from_slice(&[b' ', letter]);
        push_number(out, number);
    }
}
