//! Files that are read back, none of which is believed unseen, and files that are replaced.
//!
//! | question | function |
//! |---|---|
//! | is it a regular file? A device may never end, and opening a pipe may block | [`open`] |
//! | does its text have lines, and an end? | [`lines`]; all of it: [`text`], [`text_of`] |
//! | who else can write it, or read it? | [`check_owner`] |
//! | is it as it was written, under the name that it was written for? | [`Sealing`], [`unseal`] |
//! | how does a new file take the place of an old one? | [`replace`] |
//!
//! It does not say what the bytes mean, and holds nothing against who may write the file: such a
//! user can also write the check of other bytes.

#![forbid(unsafe_code)]

mod owner;
mod regular;
mod replace;
mod seal;
mod text;

pub use owner::{Exposed, Others, check_owner};
pub use regular::open;
pub use replace::{Sync, check_place, replace};
pub use seal::{Sealing, Unsealed, unseal};
pub use text::{Lines, lines, text, text_of};
