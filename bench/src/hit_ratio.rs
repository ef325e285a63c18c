//! The hit ratio of the store as a cache, compared with memcached's with the same memory and
//! requests.
//!
//! A request is a GET; a missing item is stored. Both get the same keys in the same batches.
//! memcached runs with one thread on a loopback port, speaks its own protocol, and is ended by this
//! program.

use crate::Failure;
use crate::memcached::Memcached as Server;
use crate::row::{Bound, against, plain};
use nebula_kvs::{Eviction, Mode, Put, Store, StoreConfig, StoreOptions};
use nebula_workload::{Key, Keys, Seed};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// Memory of each cache: memcached's slabs; the store's index and log.
const MEMORY_MIB: usize = 64;
const WARM: u64 = 3_000_000;
const COUNTED: u64 = 2_000_000;
const BATCH: u64 = 100;
/// All values of a workload together, in multiples of the memory.
const TIMES_MEMORY: u64 = 6;
/// Of the store's hit ratio to memcached's.
const BOUND: Bound = Bound::AtLeast(0.98);

#[derive(Clone, Copy)]
enum Values {
    All(usize),
    /// One in eight keys has the last length, the others one of the first two in turn.
    Mixed([usize; 3]),
}

impl Values {
    fn of(self, key: u64) -> usize {
        let mixed = key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        match self {
            Self::All(bytes) => bytes,
            Self::Mixed(lengths) if mixed % 8 == 7 => lengths[2],
            Self::Mixed(lengths) => lengths[(mixed % 2) as usize],
        }
    }

    fn mean(self) -> usize {
        match self {
            Self::All(bytes) => bytes,
            Self::Mixed([a, b, c]) => (7 * (a + b) / 2 + c) / 8,
        }
    }
}

trait Cache {
    /// Returns how many of `keys` it has, and stores the others.
    fn serve(&mut self, keys: &[u64], values: Values) -> Result<u64, Failure>;
}

fn key_text(key: u64) -> String {
    format!("key-{key:012}")
}

struct Ours(Store);

impl Ours {
    fn new(values: Values, eviction: Eviction) -> Result<Self, Failure> {
        let config = StoreConfig::within(MEMORY_MIB << 20, Mode::Cache, key_text(0).len(), values.mean());
        Ok(Self(Store::try_with(config, StoreOptions { eviction, ..StoreOptions::default() })?))
    }
}

impl Cache for Ours {
    fn serve(&mut self, keys: &[u64], values: Values) -> Result<u64, Failure> {
        let (mut value, mut missed) = (Vec::new(), Vec::new());
        for &key in keys {
            let text = key_text(key);
            if self.0.get_item(Store::hash(text.as_bytes()), text.as_bytes(), 1, &mut value).is_none() {
                missed.push(key);
            } else if value.len() != values.of(key) {
                return Err(format!("{text} has {} bytes", value.len()).into());
            }
        }
        for &key in &missed {
            let text = key_text(key);
            let put = Put { now: 1, ..Put::default() };
            self.0.put(Store::hash(text.as_bytes()), text.as_bytes(), &vec![b'v'; values.of(key)], put)?;
        }
        Ok((keys.len() - missed.len()) as u64)
    }
}

struct Memcached {
    _server: Server,
    stream: BufReader<TcpStream>,
}

impl Memcached {
    fn start() -> Result<Self, Failure> {
        let server = Server::start(MEMORY_MIB)?;
        let stream = TcpStream::connect(server.address())?;
        stream.set_nodelay(true)?;
        Ok(Self { _server: server, stream: BufReader::new(stream) })
    }

    fn line(&mut self) -> Result<String, Failure> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        if line.is_empty() { Err("memcached closed the connection".into()) } else { Ok(line) }
    }
}

impl Cache for Memcached {
    fn serve(&mut self, keys: &[u64], values: Values) -> Result<u64, Failure> {
        let asked: String = keys.iter().map(|&key| format!("mg {} v\r\n", key_text(key))).collect();
        self.stream.get_mut().write_all(asked.as_bytes())?;
        let mut missed = Vec::new();
        for &key in keys {
            let line = self.line()?;
            match line.split_ascii_whitespace().collect::<Vec<_>>()[..] {
                ["EN"] => missed.push(key),
                ["VA", bytes] => {
                    let mut value = vec![0; bytes.parse::<usize>()? + 2];
                    self.stream.read_exact(&mut value)?;
                }
                _ => return Err(format!("memcached said {line:?}").into()),
            }
        }
        let mut stored = Vec::new();
        for &key in &missed {
            let bytes = values.of(key);
            write!(stored, "ms {} {bytes} q\r\n", key_text(key))?;
            stored.resize(stored.len() + bytes, b'v');
            stored.extend(b"\r\n");
        }
        stored.extend(b"mn\r\n");
        self.stream.get_mut().write_all(&stored)?;
        // memcached may find no item to evict and refuse to store one; the key then misses again,
        // as for its clients.
        loop {
            match self.line()?.trim_end() {
                "MN" => return Ok((keys.len() - missed.len()) as u64),
                "SERVER_ERROR out of memory storing object" => {}
                other => return Err(format!("memcached said {other:?}").into()),
            }
        }
    }
}

fn hit_ratio(cache: &mut impl Cache, theta: &str, values: Values) -> Result<f64, Failure> {
    let keys = TIMES_MEMORY * (MEMORY_MIB << 20) as u64 / values.mean() as u64;
    let mut picker = format!("zipf:{theta}").parse::<Keys>()?.over(keys)?;
    let mut rng = Seed(1).stream("keys");
    let mut hits = 0;
    for batch in 0..(WARM + COUNTED) / BATCH {
        let keys: Vec<u64> = (0..BATCH)
            .map(|_| {
                let Key(key) = picker.next_key(&mut rng);
                key
            })
            .collect();
        let found = cache.serve(&keys, values)?;
        hits += if batch * BATCH >= WARM { found } else { 0 };
    }
    Ok(hits as f64 / COUNTED as f64)
}

pub fn run() -> Result<(), Failure> {
    let mixes = [
        ("100 B", Values::All(100)),
        ("500 B", Values::All(500)),
        ("60 B, 300 B, 3 KB", Values::Mixed([60, 300, 3000])),
    ];
    for (lengths, values) in mixes {
        for theta in ["0.8", "0.99", "1.2"] {
            let what = |who: &str| format!("hit ratio, zipf:{theta}, values of {lengths}, {MEMORY_MIB} MiB: {who}");
            let theirs = hit_ratio(&mut Memcached::start()?, theta, values)?;
            let oldest = hit_ratio(&mut Ours::new(values, Eviction::Oldest)?, theta, values)?;
            let unread = hit_ratio(&mut Ours::new(values, Eviction::Unread)?, theta, values)?;
            plain(&what("memcached"), theirs, "of requests");
            against(&what("the oldest go"), oldest, "of requests", ("memcached", theirs), None);
            against(&what("the unread go"), unread, "of requests", ("memcached", theirs), Some(BOUND));
        }
    }
    Ok(())
}
