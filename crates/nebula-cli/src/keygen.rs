//! `nebula keygen`: a key that servers and clients of `udp://` share.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use nebula::Key;

use crate::output::{self, Failure};

const EXAMPLES: &str = "Examples:
  nebula keygen kv.key                                          a new key, readable by you alone
  nebula serve kv --endpoint udp://0.0.0.0:7400 --key-file kv.key
  nebula load kv --endpoint udp://192.0.2.7:7400 --key-file kv.key

Copy the file to the machines of the clients by a way that nobody else can read.";

/// Make a key for authenticated and encrypted UDP
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Where to write it; a file that exists is not touched
    file: PathBuf,
}

/// Writes a new key as hexadecimal digits.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let key = Key::random().map_err(|error| Failure::fault(format!("no random bytes: {error}")))?;
    let cannot = |error| Failure::bad_input(format!("cannot write {}: {error}", args.file.display()));
    let mut file =
        std::fs::File::options().write(true).create_new(true).mode(0o600).open(&args.file).map_err(cannot)?;
    writeln!(file, "{}", key.to_hex()).map_err(cannot)?;
    output::note(format!("wrote {}: give it to servers and clients with --key-file", args.file.display()));
    Ok(())
}
