//! Rejects flags that have no effect at the selected level.

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};

use super::blocks::args::BlocksArgs;
use super::queueing::QueueingArgs;
use crate::Failure;

pub(super) fn check(has_machine: bool, given: &ArgMatches) -> Result<(), Failure> {
    let wrong = match has_machine {
        true => first_of::<QueueingArgs>(given).map(|flag| {
            format!("{flag} belongs to the queueing level and --machine to the block level: remove one of them")
        }),
        false => first_of::<BlocksArgs>(given)
            .map(|flag| format!("{flag} belongs to the block level: add --machine, such as --machine isca20")),
    };
    wrong.map_or(Ok(()), |line| Err(Failure::bad_input(line)))
}

fn first_of<A: clap::Args>(given: &ArgMatches) -> Option<String> {
    let flags = A::augment_args(Command::new(""));
    let is_given = |flag: &&clap::Arg| given.value_source(flag.get_id().as_str()) == Some(ValueSource::CommandLine);
    flags.get_arguments().find(is_given).and_then(|flag| flag.get_long()).map(|long| format!("--{long}"))
}
