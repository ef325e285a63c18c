//! `nebula incast --runtime TIME`: many senders and one receive buffer, under each flow control,
//! simulated and in the runtime.

mod runtime;

use nebula_lab::incast::{Question, row};
use nebula_nic::Span;

use nebula_ui::output::Format;
use nebula_ui::output::{self, Failure};

const EXAMPLES: &str = "Examples:
  nebula incast --runtime 2s                               64 senders, simulated, and 64 clients of a server over loopback UDP
  nebula incast --runtime 1s --senders 16 --flow window,homa --format json

The columns are those of nebula incast. In the runtime one thread is all clients and another one the server; their link is the kernel's loopback, so figures of both worlds are compared by flow control, not with each other.";

/// Many senders and one receive buffer, under each flow control
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    question: Question,
    /// How long to measure the runtime under each flow control: a server and its clients over
    /// loopback UDP
    #[arg(long, value_name = "TIME", value_parser = time)]
    runtime: Span,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

fn time(text: &str) -> Result<Span, String> {
    let span: Span = text.parse().map_err(|error| format!("{error}"))?;
    let range = Span::from_ms(100)..=Span::from_secs(600);
    if range.contains(&span) { Ok(span) } else { Err("give 100ms to 600s".to_owned()) }
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let mut answer = args.question.ask(&())?;
    for (place, &flow) in args.question.flows().iter().enumerate() {
        let incast = args.question.incast(flow)?;
        let found = runtime::measure(&incast, args.runtime, args.question.seed())?;
        if !found.is_settled {
            answer
                .notes
                .push(format!("note: {flow} in the runtime is unsettled: both halves differ; give a longer --runtime"));
        }
        answer.rows.insert(2 * place + 1, row("runtime", &incast, &found));
    }
    output::print(args.format, &answer.rows)?;
    answer.notes.iter().for_each(output::note);
    Ok(())
}
