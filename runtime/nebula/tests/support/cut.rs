//! A link of streams between clients and a server over `tcp://`, which the test can break.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Forwards what both ends of every connection send.
pub(crate) struct Cuttable {
    /// Where clients find the server.
    pub(crate) address: SocketAddr,
    ends: Arc<Mutex<Vec<TcpStream>>>,
}

impl Cuttable {
    pub(crate) fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a socket");
        let (address, ends) = (listener.local_addr().expect("an address"), Arc::new(Mutex::new(Vec::new())));
        let kept = ends.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect(server) else { continue };
                kept.lock().expect("no panic").extend([&client, &server].map(same));
                pass(same(&client), same(&server));
                pass(server, client);
            }
        });
        Self { address, ends }
    }

    pub(crate) fn cut(&self) -> usize {
        let ends: Vec<_> = self.ends.lock().expect("no panic").drain(..).collect();
        ends.iter().for_each(|end| drop(end.shutdown(Shutdown::Both)));
        ends.len() / 2
    }
}

fn same(stream: &TcpStream) -> TcpStream {
    stream.try_clone().expect("a descriptor")
}

fn pass(mut from: TcpStream, mut to: TcpStream) {
    std::thread::spawn(move || {
        let mut bytes = [0; 16 << 10];
        loop {
            match from.read(&mut bytes) {
                Ok(read @ 1..) if to.write_all(&bytes[..read]).is_ok() => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                _ => break,
            }
        }
        let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
    });
}
