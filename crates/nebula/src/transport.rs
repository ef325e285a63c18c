//! How packets travel between client and server.
//!
//! | transport | endpoint | what it is |
//! |---|---|---|
//! | [`shm`] | `shm://NAME` | a ring of slots in memory that both processes map |

pub(crate) mod shm;
