//! A server whose store this client reads: a GET is some one-sided reads, everything else an RPC.

use nebula::{AccessRefusal, CallError, Client, RegionId, StatusReader, SubmitError, Ticket};
use nebula_kvs::protocol::{HEADER_BYTES, Reply, Status};
use nebula_kvs::{MAP_BYTES, RemoteGet, RemoteMap, RemoteStep, Store};
use nebula_workload::{Op, Operation, Token, key_bytes};
use std::collections::VecDeque;

use super::client::{Ending, Flight, Peer, Submitted};
use super::exchange::Requests;
use super::plan::LoadPlan;
use nebula_ui::output::Failure;

/// The region that `nebula serve kv --one-sided` registers.
const STORE: RegionId = RegionId(0);

#[expect(clippy::cast_possible_truncation, reason = "some words")]
const MAP: u32 = MAP_BYTES as u32;

#[derive(Debug, Default)]
struct Get {
    flight: Option<Flight>,
    get: RemoteGet,
}

/// An outstanding RPC, and the GET that it stands for, if any.
#[derive(Clone, Copy, Debug)]
struct Rpc {
    flight: Flight,
    get: Option<usize>,
}

#[derive(Debug)]
pub(super) struct OneSidedPeer {
    client: Client,
    requests: Requests,
    map: RemoteMap,
    key: Vec<u8>,
    item_bytes: usize,
    gets: Box<[Get]>,
    free: Vec<usize>,
    reading: Box<[usize]>,
    /// By ticket.
    rpcs: Box<[Option<Rpc>]>,
    others: u32,
    asking: VecDeque<usize>,
    /// The reply that the server would have sent.
    reply: Vec<u8>,
}

impl OneSidedPeer {
    /// Reads the map of the store first.
    pub(super) fn new(mut client: Client, plan: &LoadPlan) -> Result<Self, Failure> {
        let ticket = client.read(STORE, 0, MAP).map_err(Failure::fault)?;
        let map = match client.finish(ticket) {
            Ok(map) => map.try_into().ok().and_then(RemoteMap::decode),
            Err(CallError::Refused { .. }) => None,
            Err(error) => return Err(Failure::fault(error)),
        };
        let map = map.ok_or_else(|| {
            Failure::bad_input("the server does not share its store: start it as nebula serve kv --one-sided")
        })?;
        let slots = plan.slots as usize;
        Ok(Self {
            client,
            requests: plan.requests(),
            map,
            key: vec![0; plan.key_bytes],
            item_bytes: 8 + plan.key_bytes.next_multiple_of(8) + plan.value_bytes_max() as usize,
            gets: (0..slots).map(|_| Get::default()).collect(),
            free: (0..slots).rev().collect(),
            reading: vec![0; slots].into(),
            rpcs: vec![None; slots].into(),
            others: 0,
            asking: VecDeque::new(),
            reply: vec![0; HEADER_BYTES + plan.value_bytes_max() as usize],
        })
    }

    fn submit_rpc(&mut self, flight: Flight, get: Option<usize>) -> Result<Submitted, Failure> {
        let (request, key_hash) = self.requests.encode(&flight.operation).map_err(Failure::bad_input)?;
        match self.client.submit_keyed(request, key_hash) {
            Ok(ticket) => {
                let at = place(ticket, self.rpcs.len());
                self.rpcs[at] = Some(Rpc { flight, get });
                // An RPC of a GET counts as the GET.
                self.others += u32::from(get.is_none());
                Ok(Submitted::Sent)
            }
            Err(SubmitError::Full) => Ok(Submitted::Full),
            Err(error @ SubmitError::TooLarge { .. }) => Err(Failure::bad_input(error)),
            Err(error) => Err(Failure::fault(error)),
        }
    }

    /// Takes the next step of a GET; returns its end, if that was the last.
    fn go_on(&mut self, nth: usize, step: RemoteStep) -> Result<Option<(Flight, Ending)>, Failure> {
        let submitted = match step {
            RemoteStep::Whole { version_at, at, bytes } => self.client.read_whole(STORE, version_at, at, bytes),
            RemoteStep::Word { at } => self.client.read(STORE, at, 8),
            RemoteStep::Found => return self.end(nth, Status::Ok).map(Some),
            RemoteStep::Absent => return self.end(nth, Status::NotFound).map(Some),
            RemoteStep::Ask => {
                self.asking.push_back(nth);
                return Ok(None);
            }
        };
        // GETs are at most as many as places for operations.
        let at = place(submitted.map_err(Failure::fault)?, self.reading.len());
        self.reading[at] = nth;
        Ok(None)
    }

    fn end(&mut self, nth: usize, status: Status) -> Result<(Flight, Ending), Failure> {
        let Get { flight, get } = &mut self.gets[nth];
        let flight = flight.take().ok_or_else(|| Failure::fault("a GET has ended twice"))?;
        self.free.push(nth);
        let value = if status == Status::Ok { get.value() } else { &[] };
        let reply = Reply { status, value };
        self.reply.resize(self.reply.len().max(reply.encoded_bytes()), 0);
        let bytes = reply.encode_into(&mut self.reply).map_err(Failure::fault)?;
        let is_found = self.requests.check(&flight.operation, &self.reply[..bytes]).map_err(Failure::fault)?;
        Ok((flight, Ending::Replied { is_found }))
    }

    fn ask(&mut self) -> Result<(), Failure> {
        while let Some(&nth) = self.asking.front() {
            let Some(flight) = self.gets[nth].flight else { return Err(Failure::fault("a GET has ended twice")) };
            if self.submit_rpc(flight, Some(nth))? == Submitted::Full {
                return Ok(());
            }
            self.asking.pop_front();
        }
        Ok(())
    }

    fn replied(
        requests: &Requests,
        flight: Flight,
        result: Result<&[u8], CallError>,
    ) -> Result<(Flight, Ending), Failure> {
        let ending = match result {
            Ok(reply) => {
                let is_found = requests.check(&flight.operation, reply).map_err(Failure::fault)?;
                Ending::Replied { is_found }
            }
            Err(CallError::Nack { .. } | CallError::Expired) => Ending::Nacked,
            Err(CallError::TimedOut | CallError::Stale) => Ending::Lost,
            Err(error) => return Err(Failure::fault(error)),
        };
        Ok((flight, ending))
    }
}

impl Peer for OneSidedPeer {
    fn submit(&mut self, token: Token, operation: Operation) -> Result<Submitted, Failure> {
        let flight = Flight { token, operation };
        if operation.op != Op::Get {
            return self.submit_rpc(flight, None);
        }
        let Some(nth) = self.free.pop() else { return Ok(Submitted::Full) };
        key_bytes(operation.key, &mut self.key);
        let get = &mut self.gets[nth];
        get.flight = Some(flight);
        let step = get.get.begin(&self.map, Store::hash(&self.key), &self.key, self.item_bytes);
        self.go_on(nth, step)?;
        Ok(Submitted::Sent)
    }

    fn poll(&mut self) -> Result<Option<(Flight, Ending)>, Failure> {
        self.ask()?;
        let Self { client, gets, reading, rpcs, map, .. } = self;
        let Some(done) = client.poll() else { return Ok(None) };
        if !done.ticket.is_one_sided() {
            let at = place(done.ticket, rpcs.len());
            let Some(Rpc { flight, get }) = rpcs[at].take() else {
                return Err(Failure::fault(format!("received two replies to RPC {}", done.ticket.0)));
            };
            match get {
                Some(nth) => {
                    gets[nth].flight = None;
                    self.free.push(nth);
                }
                None => self.others -= 1,
            }
            return Self::replied(&self.requests, flight, done.result).map(Some);
        }
        let nth = reading[place(done.ticket, reading.len())];
        let get = &mut gets[nth].get;
        let step = match done.result {
            Ok(read) => match read.split_first_chunk() {
                Some((word, [])) => get.take_word(u64::from_le_bytes(*word)),
                Some((version, read)) => get.take_whole(map, u64::from_le_bytes(*version), read),
                None => return Err(Failure::fault("a read is shorter than it should be")),
            },
            Err(CallError::Refused { refusal: AccessRefusal::Torn }) => get.again(),
            Err(CallError::TimedOut) => {
                let flight = gets[nth].flight.take();
                self.free.push(nth);
                return Ok(flight.map(|flight| (flight, Ending::Lost)));
            }
            Err(error) => return Err(Failure::fault(error)),
        };
        self.go_on(nth, step)
    }

    fn outstanding(&self) -> u32 {
        u32::try_from(self.gets.len() - self.free.len()).unwrap_or(u32::MAX) + self.others
    }

    fn status(&self) -> Option<&StatusReader> {
        self.client.status()
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the low bits")]
fn place(ticket: Ticket, places: usize) -> usize {
    ticket.0 as usize & (places - 1)
}
