//! Counters for memcached's clients, and the answers to `stats`.

use super::bounds::VERSION;
use super::seconds::Seconds;
use nebula::StatusReader;
use nebula_kvs::Store;
use nebula_memcached::answer;
use nebula_memcached::request::Tokens;
use nebula_sys::process::time_used;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    Get,
    GetHit,
    Set,
    Touch,
    TouchHit,
    Flush,
    DeleteHit,
    DeleteMiss,
    IncrementHit,
    IncrementMiss,
    DecrementHit,
    DecrementMiss,
    CasHit,
    CasMiss,
    CasBad,
    Meta,
}

const COUNTS: usize = Count::Meta as usize + 1;

#[derive(Debug)]
pub(in crate::kv) struct Facts {
    pub(in crate::kv) memory_bytes: u64,
    /// Engines, each with its core.
    pub(in crate::kv) threads: u16,
    pub(in crate::kv) clients_max: u16,
    /// 0 without that transport.
    pub(in crate::kv) tcp_port: u16,
    pub(in crate::kv) udp_port: u16,
    /// Set once the server runs; counts the connected clients.
    pub(in crate::kv) status: OnceLock<StatusReader>,
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    counts: [AtomicU64; COUNTS],
}

impl Counters {
    #[inline]
    pub(super) fn add(&self, count: Count, times: u64) {
        // Relaxed: they are read as figures only.
        self.counts[count as usize].fetch_add(times, Ordering::Relaxed);
    }

    /// GETs that found an item, and GETs that did not.
    pub(super) fn lookups(&self) -> (u64, u64) {
        let hits = self.get(Count::GetHit);
        (hits, self.get(Count::Get).saturating_sub(hits))
    }

    fn get(&self, count: Count) -> u64 {
        self.counts[count as usize].load(Ordering::Relaxed)
    }

    fn reset(&self) {
        self.counts.iter().for_each(|count| count.store(0, Ordering::Relaxed));
    }
}

/// What does not happen here, or is not known: an overwritten item leaves nothing to tell by
/// whether it was ever read.
const ALWAYS_ZERO: [&str; 11] = [
    "listen_disabled_num",
    "time_in_listen_disabled_us",
    "conn_yields",
    "hash_is_expanding",
    "slab_reassign_running",
    "slabs_moved",
    "lru_crawler_running",
    "malloc_fails",
    "expired_unfetched",
    "evicted_unfetched",
    "evicted_active",
];

pub(super) struct Told<'a> {
    pub(super) counters: &'a Counters,
    pub(super) facts: &'a Facts,
    pub(super) store: &'a Store,
    pub(super) seconds: &'a Seconds,
}

impl Told<'_> {
    pub(super) fn stats(&self, mut about: Tokens<'_>, now: u32, out: &mut Vec<u8>) {
        match about.next() {
            None => self.general(out),
            Some(b"settings") => self.settings(out),
            Some(b"items") => self.items(out),
            Some(b"slabs") => self.slabs(out),
            Some(b"sizes") => line(out, "sizes_status", "disabled"),
            Some(b"conns") => {}
            Some(b"cachedump") => return self.cache_dump(about, now, out),
            Some(b"reset") => {
                self.counters.reset();
                return out.extend_from_slice(answer::RESET);
            }
            Some(_) => return out.extend_from_slice(answer::ERROR),
        }
        out.extend_from_slice(answer::END);
    }

    fn general(&self, out: &mut Vec<u8>) {
        let get = |count| self.counters.get(count);
        let stats = self.store.stats();
        line(out, "pid", std::process::id());
        line(out, "uptime", self.seconds.uptime());
        line(out, "time", Seconds::unix_now());
        line(out, "version", VERSION);
        line(out, "pointer_size", usize::BITS);
        let server = self.facts.status.get().map(StatusReader::read).unwrap_or_default();
        for (name, time) in ["rusage_user", "rusage_system"].into_iter().zip(time_used()) {
            line(out, name, format_args!("{:.6}", time.as_secs_f64()));
        }
        line(out, "max_connections", self.facts.clients_max);
        let (gets, hits) = (get(Count::Get), get(Count::GetHit));
        let (touches, touched) = (get(Count::Touch), get(Count::TouchHit));
        for (name, value) in [
            ("curr_connections", server.clients),
            ("total_connections", server.connections),
            ("rejected_connections", server.connections_refused),
            ("cmd_get", gets),
            ("cmd_set", get(Count::Set)),
            ("cmd_flush", get(Count::Flush)),
            ("cmd_touch", touches),
            ("cmd_meta", get(Count::Meta)),
            ("get_hits", hits),
            ("get_misses", gets.saturating_sub(hits)),
            ("delete_misses", get(Count::DeleteMiss)),
            ("delete_hits", get(Count::DeleteHit)),
            ("incr_misses", get(Count::IncrementMiss)),
            ("incr_hits", get(Count::IncrementHit)),
            ("decr_misses", get(Count::DecrementMiss)),
            ("decr_hits", get(Count::DecrementHit)),
            ("cas_misses", get(Count::CasMiss)),
            ("cas_hits", get(Count::CasHit)),
            ("cas_badval", get(Count::CasBad)),
            ("touch_hits", touched),
            ("touch_misses", touches.saturating_sub(touched)),
            ("bytes_read", server.bytes_read),
            ("bytes_written", server.bytes_written),
            ("limit_maxbytes", self.facts.memory_bytes),
            ("accepting_conns", u64::from(!server.is_draining)),
            ("threads", self.facts.threads.into()),
            ("hash_bytes", self.facts.memory_bytes.saturating_sub(stats.log_bytes as u64)),
            ("bytes", stats.log_bytes_used as u64),
            ("reclaimed", stats.expired),
            ("curr_items", stats.items),
            ("total_items", stats.inserted + stats.updated_in_place + stats.appended),
            ("evictions", stats.evicted),
        ] {
            line(out, name, value);
        }
        ALWAYS_ZERO.iter().for_each(|name| line(out, name, 0));
    }

    fn settings(&self, out: &mut Vec<u8>) {
        let Facts { memory_bytes, clients_max, tcp_port, udp_port, threads, .. } = self.facts;
        line(out, "maxbytes", memory_bytes);
        line(out, "maxconns", clients_max);
        line(out, "tcpport", tcp_port);
        line(out, "udpport", udp_port);
        line(out, "verbosity", 0);
        line(out, "evictions", "on");
        line(out, "num_threads", threads);
        line(out, "cas_enabled", "yes");
        line(out, "auth_enabled_sasl", "no");
        line(out, "auth_enabled_ascii", "no");
        line(out, "item_size_max", nebula_memcached::ITEM_BYTES_MAX);
        line(out, "maxconns_fast", "yes");
        line(out, "flush_enabled", "yes");
    }

    /// All items are in one log: one class.
    fn items(&self, out: &mut Vec<u8>) {
        let stats = self.store.stats();
        if stats.items > 0 {
            line(out, "items:1:number", stats.items);
            line(out, "items:1:mem_requested", stats.log_bytes_used);
            line(out, "items:1:evicted", stats.evicted);
            line(out, "items:1:reclaimed", stats.expired);
        }
    }

    fn slabs(&self, out: &mut Vec<u8>) {
        let stats = self.store.stats();
        line(out, "1:used_chunks", stats.items);
        line(out, "1:get_hits", self.counters.get(Count::GetHit));
        line(out, "1:cmd_set", self.counters.get(Count::Set));
        line(out, "1:delete_hits", self.counters.get(Count::DeleteHit));
        line(out, "active_slabs", 1);
        line(out, "total_malloced", self.facts.memory_bytes);
    }
}

fn line(out: &mut Vec<u8>, name: &str, value: impl std::fmt::Display) {
    out.extend_from_slice(format!("STAT {name} {value}\r\n").as_bytes());
}
