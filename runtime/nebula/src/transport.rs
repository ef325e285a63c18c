//! How packets travel between client and server.
//!
//! | transport | endpoint | what it is |
//! |---|---|---|
//! | [`shm`] | `shm://NAME` | a ring of slots in memory that both processes map |
//! | [`packets`] | two interfaces | packets that the server forwards, bypassing the kernel's network stack |
//! | [`stream`] | `tcp://ADDRESS:PORT` | another protocol, over streams of bytes or over its datagrams |
//! | [`udp`] | `udp://ADDRESS:PORT` | datagrams, through the kernel or any other [`Wire`](crate::net::Wire) |

pub(crate) mod packets;
pub(crate) mod shm;
pub(crate) mod stream;
pub(crate) mod udp;
