//! `nebula incast`: many senders and one receive buffer, under each flow control; simulated, and in
//! the runtime.

mod runtime;

use nebula_lab::incast::{Question, row};
use nebula_nic::Span;

use crate::flags::Format;
use nebula_ui::output::{self, Failure};
use nebula_ui::signal;

const EXAMPLES: &str = "Examples:
  nebula incast                                            64 senders: window, homa and none
  nebula incast --runtime 2s                               the same, and 64 clients of a server over loopback UDP beside it
  nebula incast --senders 16 --flow window,homa --format json
  nebula incast --switch 1MiB --recv-buffer 8MiB           room enough: nothing is dropped or refused
  nebula incast --flow homa --overcommitment 1 --granted-ahead 16

Each sender has one message outstanding and begins the next one as it is answered. Goodput is the payload of answered messages. The p99 is from the first try to the answer, refused tries included. NACKed is the share of tries that were refused. With --runtime, one thread is all clients and another one the server; their link is the kernel's loopback, so figures of both worlds are compared by flow control, not with each other.";

/// Many senders and one receive buffer, under each flow control
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    question: Question,
    /// Measure the runtime as well, for this long under each flow control: a server and its clients
    /// over loopback UDP
    #[arg(long, value_name = "TIME", value_parser = time)]
    runtime: Option<Span>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

fn time(text: &str) -> Result<Span, String> {
    let span: Span = text.parse().map_err(|error| format!("{error}"))?;
    let range = Span::from_ms(100)..=Span::from_secs(600);
    if range.contains(&span) { Ok(span) } else { Err("give 100ms to 600s".to_owned()) }
}

/// Prints a row for each flow control and world.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let mut answer = args.question.ask(&())?;
    if let Some(time) = args.runtime {
        signal::catch()?;
        for (place, &flow) in args.question.flows().iter().enumerate() {
            let incast = args.question.incast(flow)?;
            let found = runtime::measure(&incast, time, args.question.seed())?;
            if !found.is_settled {
                answer.notes.push(format!(
                    "note: {flow} in the runtime is unsettled: both halves differ; give a longer --runtime"
                ));
            }
            answer.rows.insert(2 * place + 1, row("runtime", &incast, &found));
        }
    }
    output::print(args.format, &answer.rows)?;
    answer.notes.iter().for_each(output::note);
    Ok(())
}
