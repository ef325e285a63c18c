//! Values as they are written on a command line or in a file.
//!
//! | file | what it holds |
//! |---|---|
//! | `count` | whole numbers and bytes |
//! | `load` | service times, arrivals and mixes of operations |
//! | `told` | clap's error in one line |

mod count;
mod load;
mod told;

pub use count::{bytes, count};
pub use load::{arrivals, mix, service};
pub use told::in_one_line;
