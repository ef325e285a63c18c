//! `nebula incast`: many senders and one receive buffer, under each flow control, simulated.

use nebula_lab::incast::Question;

use nebula_ui::output::Format;
use nebula_ui::output::{self, Failure};

const EXAMPLES: &str = "Examples:
  nebula incast                                            64 senders: window, homa and none
  nebula incast --senders 16 --flow window,homa --format json
  nebula incast --switch 1MiB --recv-buffer 8MiB           room enough: nothing is dropped or refused
  nebula incast --flow homa --overcommitment 1 --granted-ahead 16
  nebula incast --runtime 2s                               the same, and a server with 64 clients beside it: nebula-agreement

Each sender has one message outstanding and begins the next one as it is answered. Goodput is the payload of answered messages. The p99 is from the first try to the answer, refused tries included. NACKed is the share of tries that were refused.";

/// Many senders and one receive buffer, under each flow control
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    question: Question,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let bar = crate::progress::Bar::of_replications();
    let answer = args.question.ask(&bar)?;
    bar.finish();
    output::print(args.format, &answer.rows)?;
    answer.notes.iter().for_each(output::note);
    Ok(())
}
