//! `nebula keygen`: creates a pre-shared key for servers and clients over `udp://`.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use nebula::Key;

use crate::output::{self, Failure};

const EXAMPLES: &str = "Examples:
  nebula keygen kv.key                                          create a key that only you can read
  nebula serve kv --endpoint udp://0.0.0.0:7400 --key-file kv.key
  nebula load kv --endpoint udp://192.0.2.7:7400 --key-file kv.key

Copy the file to the clients' machines over a confidential channel, such as scp.";

/// Create a pre-shared key for authenticated and encrypted UDP
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// File to create; an existing file is not overwritten
    file: PathBuf,
}

/// Writes a new key, in hexadecimal.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let key = Key::random().map_err(|error| Failure::fault(format!("cannot read random bytes: {error}")))?;
    let cannot = |error| Failure::bad_input(format!("cannot write {}: {error}", args.file.display()));
    let mut file =
        std::fs::File::options().write(true).create_new(true).mode(0o600).open(&args.file).map_err(cannot)?;
    writeln!(file, "{}", key.to_hex()).map_err(cannot)?;
    output::note(format!("wrote {}: pass it to servers and clients with --key-file", args.file.display()));
    Ok(())
}
