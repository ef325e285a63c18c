//! The key-value service over shared memory, compared with direct calls of the same store in a
//! prefetched loop.

use crate::Failure;
use crate::child::{self, Server};
use crate::measure::{Pipe, median, round_trip, throughput};
use crate::row::{Bound, against, plain};
use nebula::{Client, ClientConfig};
use nebula_kvs::protocol::{Reply, Request, Status};
use nebula_kvs::{GROUP, Mode, SliceSink, Store, StoreConfig};
use nebula_sys::clock::Clock;

/// As in NEBULA's evaluation (§VI).
const ITEMS: u64 = 1_600_000;
const KEY_BYTES: usize = 16;
const ROUNDS: usize = 5;
/// Of a round of the direct loop.
const DIRECT_PS: u64 = 200_000_000_000;

fn key(index: u64) -> [u8; KEY_BYTES] {
    let mut key = [0; KEY_BYTES];
    key[..8].copy_from_slice(&index.to_le_bytes());
    key[8..].copy_from_slice(&index.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes());
    key
}

struct Draw(u64);

impl Draw {
    #[inline(always)]
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((u128::from(self.0) * u128::from(ITEMS)) >> 64) as u64
    }
}

pub fn run(program: &str) -> Result<(), Failure> {
    child::pin_client()?;
    for value_bytes in [8, 512] {
        compare(program, value_bytes)?;
    }
    Ok(())
}

fn compare(program: &str, value_bytes: usize) -> Result<(), Failure> {
    let store = filled(value_bytes)?;
    let endpoint = format!("shm://bench-kv-{}", std::process::id());
    let (mut direct, mut plain_loop, mut served, mut alone) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    {
        // The server polls on its own core while the direct loop runs on the client's: separate
        // processes, as in production.
        let mut gets = Gets::start(program, &endpoint, value_bytes, "on")?;
        for _ in 0..ROUNDS {
            direct.push(direct_rate(&store, value_bytes, true));
            plain_loop.push(direct_rate(&store, value_bytes, false));
            served.push(throughput(&mut gets, 64));
            alone.push(round_trip(&mut gets).0);
        }
    }
    let unsteered = {
        let mut gets = Gets::start(program, &endpoint, value_bytes, "off")?;
        median((0..ROUNDS).map(|_| throughput(&mut gets, 64)).collect())
    };
    let served = median(served);
    let baseline = ("the store called in a prefetched loop", median(direct));
    let what = format!("GET, {value_bytes} B values, 1.6 M uniform keys");
    plain(&format!("{what}: called in a prefetched loop"), baseline.1, "M op/s");
    plain(&format!("{what}: called one after the other"), median(plain_loop), "M op/s");
    against(&format!("{what}: served, 64 outstanding"), served, "M RPC/s", baseline, Some(Bound::AtLeast(0.65)));
    let steered = ("with it", served);
    against(&format!("{what}: served, 64 outstanding, steering off"), unsteered, "M RPC/s", steered, None);
    plain(&format!("{what}: served, 1 outstanding, round trip p50"), median(alone), "ns");
    Ok(())
}

fn filled(value_bytes: usize) -> Result<Store, Failure> {
    let config = StoreConfig { mode: Mode::Cache, ..StoreConfig::for_items(ITEMS, KEY_BYTES, value_bytes) };
    let store = Store::try_new(config)?;
    let value = vec![7; value_bytes];
    for index in 0..ITEMS {
        let key = key(index);
        store.set(Store::hash(&key), &key, &value)?;
    }
    Ok(store)
}

/// GETs per second, in millions, on this core.
fn direct_rate(store: &Store, value_bytes: usize, is_prefetched: bool) -> f64 {
    let (clock, mut draw, mut buffer) = (Clock::new(), Draw(0x2545_F491_4F6C_DD1D), vec![0; value_bytes]);
    let (start, mut done, mut found) = (clock.now_ps(), 0_u64, 0_u64);
    loop {
        for _ in 0..64 {
            let keys: [_; GROUP] = std::array::from_fn(|_| key(draw.next()));
            let mut sink = SliceSink::new(&mut buffer);
            if is_prefetched {
                store
                    .get_each(&keys, KEY_BYTES + value_bytes, &mut sink, |_, is_found, _| found += u64::from(is_found));
            } else {
                keys.iter().for_each(|key| found += u64::from(store.get(Store::hash(key), key, &mut sink)));
            }
            done += GROUP as u64;
        }
        let elapsed = clock.now_ps() - start;
        if elapsed > DIRECT_PS {
            assert!(found * 100 > done * 99, "the store lost items: {found} of {done} found");
            return done as f64 / (elapsed as f64 / 1e6);
        }
    }
}

struct Gets {
    client: Client,
    draw: Draw,
    value_bytes: usize,
    _server: Server,
}

impl Gets {
    fn start(program: &str, endpoint: &str, value_bytes: usize, steering: &str) -> Result<Self, Failure> {
        let (core, items, bytes) = (child::server_core().to_string(), ITEMS.to_string(), value_bytes.to_string());
        let words = ["serve", "kv", "--endpoint", endpoint, "--inline", "--slo", "10ms", "--pin", &core];
        let sizes = ["--items", &items, "--value-bytes", &bytes, "--steering", steering, "--end-with-parent"];
        let server = Server::start_program(program, &[&words[..], &sizes[..]].concat())?;
        let mut client = Client::connect_with(endpoint, ClientConfig::default().slots(64))?;
        fill(&mut client, value_bytes)?;
        Ok(Self { client, draw: Draw(0x1234_5678_9ABC_DEF1), value_bytes, _server: server })
    }
}

fn fill(client: &mut Client, value_bytes: usize) -> Result<(), Failure> {
    let (value, mut request) = (vec![7; value_bytes], vec![0; KEY_BYTES + value_bytes + 64]);
    let (mut sent, mut done) = (0, 0);
    while done < ITEMS {
        while sent < ITEMS {
            let bytes = Request::Set { key: &key(sent), value: &value }.encode_into(&mut request)?;
            match client.submit(&request[..bytes]) {
                Ok(_) => sent += 1,
                Err(nebula::SubmitError::Full) => break,
                Err(error) => return Err(error.into()),
            }
        }
        while let Some(completion) = client.poll() {
            if Reply::decode(completion.result?)?.status != Status::Ok {
                return Err("the service did not take a SET".into());
            }
            done += 1;
        }
    }
    Ok(())
}

impl Pipe for Gets {
    #[inline(always)]
    fn send(&mut self, _: u64) -> bool {
        let mut request = [0; 64];
        let key = key(self.draw.next());
        let bytes = Request::Get { key: &key }.encode_into(&mut request).expect("64 B hold a GET");
        self.client.submit(&request[..bytes]).is_ok()
    }

    #[inline(always)]
    fn take(&mut self) -> u64 {
        let mut taken = 0;
        while let Some(completion) = self.client.poll() {
            let reply = completion.result.expect("nothing is refused below saturation");
            let reply = Reply::decode(reply).expect("the service answers in its protocol");
            assert!(
                reply.status == Status::NotFound || reply.value.len() == self.value_bytes,
                "a value of another length"
            );
            taken += 1;
        }
        taken
    }
}
