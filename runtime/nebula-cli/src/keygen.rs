//! `nebula keygen`: creates a pre-shared key for servers and clients over `udp://` or `tcp://`.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use nebula::{Key, Keys};

use nebula_ui::output::{self, Failure};

const EXAMPLES: &str = "Examples:
  nebula keygen kv.key                                          create a key that only you can read
  nebula serve kv --endpoint udp://0.0.0.0:7400 --key-file kv.key
  nebula load kv --endpoint udp://192.0.2.7:7400 --key-file kv.key
  nebula keygen ann.key --name ann && cat ann.key >> kv.key     one more key; the server reads kv.key again on SIGHUP

Copy the file to the clients' machines over a confidential channel, such as scp.";

/// Create a pre-shared key for authenticated and encrypted UDP
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// File to create; an existing file is not overwritten
    file: PathBuf,
    /// Name of the key's owner, such as a tenant; a server's file has a line for each key
    #[arg(long, default_value = "", hide_default_value = true)]
    name: String,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let key = Key::random().map_err(|error| Failure::fault(format!("cannot read random bytes: {error}")))?;
    let line = format!("{} {}", args.name, key.to_hex());
    // Refuses an invalid name before the file exists.
    line.parse::<Keys>().map_err(|_| Failure::bad_input("--name: give up to 64 of a-z, A-Z, 0-9, '.', '_' and '-'"))?;
    let cannot = |error| Failure::bad_input(format!("cannot write {}: {error}", args.file.display()));
    let mut file =
        std::fs::File::options().write(true).create_new(true).mode(0o600).open(&args.file).map_err(cannot)?;
    writeln!(file, "{}", line.trim_start()).map_err(cannot)?;
    output::note(format!("wrote {}: pass it to servers and clients with --key-file", args.file.display()));
    Ok(())
}
