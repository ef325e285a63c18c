//! The floor: a server that reads, counts lines and writes as many answers, without lookups. Any
//! server of single requests over the kernel's TCP needs at least its system calls.

use super::lanes::answer;
use crate::Failure;
use crate::child;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use std::io::{Read, Write};
use std::mem::MaybeUninit;
use std::net::{TcpListener, TcpStream};

/// Connections that one epoll call reports.
const NAMED_MAX: usize = 64;
/// The listener's event data; connections count from 0.
const LISTENER: u64 = u64::MAX;
const READ_BYTES: usize = 64 << 10;

/// Serves at `address` until its parent ends it: polls for readable connections, reads each once
/// and answers by one call.
pub fn serve(address: &str) -> Result<(), Failure> {
    nebula_sys::affinity::pin_to(child::server_core())?;
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
    child::ready()?;
    let (mut streams, mut input, answer) = (Vec::new(), vec![0; READ_BYTES], answer());
    let mut events = [const { MaybeUninit::<Event>::uninit() }; NAMED_MAX];
    let mut output = Vec::new();
    loop {
        // Sleeps when idle: other servers are measured on its core.
        let (events, _) = epoll::wait(&epoll, &mut events, None)?;
        for event in events {
            let at = event.data.u64();
            if at == LISTENER {
                let (stream, _) = listener.accept()?;
                stream.set_nodelay(true)?;
                stream.set_nonblocking(true)?;
                epoll::add(&epoll, &stream, EventData::new_u64(streams.len() as u64), EventFlags::IN)?;
                streams.push(Some(stream));
            } else if let Some(stream) = &mut streams[at as usize]
                && exchange(stream, &mut input, &mut output, &answer).is_none()
            {
                streams[at as usize] = None;
            }
        }
    }
}

/// Reads once and answers every line; `None` when the client is gone.
fn exchange(stream: &mut TcpStream, input: &mut [u8], output: &mut Vec<u8>, answer: &[u8]) -> Option<()> {
    let bytes = stream.read(input).ok().filter(|&bytes| bytes > 0)?;
    output.clear();
    input[..bytes].iter().filter(|&&byte| byte == b'\n').for_each(|_| output.extend_from_slice(answer));
    stream.write_all(output).ok()
}
