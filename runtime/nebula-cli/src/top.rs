//! `nebula top`: a running server, live on a terminal, or once without one.

mod screen;
mod series;

use std::io::Write;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use console::{Key, Term};
use nebula_nic::Span;

use nebula_ops::observe::{Change, Place, Snapshot, Source};
use nebula_ui::output::{self, Failure};
use nebula_ui::signal;
use screen::Screen;

const EXAMPLES: &str = "Examples:
  nebula top shm://kv                                     q or Ctrl-C ends it
  nebula top http://192.0.2.7:9464 --interval 2s          a server started with --metrics, on any machine
  nebula top shm://kv --once                              one picture, as in a pipe

Load, NACKs, latencies and the cores are those of the interval; latencies are of one RPC in 64, from the server's receipt to the end of its service.";

/// Watch a running server: load, latencies, NACKs, queue, buffer and cores over time
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The server: shm://NAME, or http://ADDRESS:PORT of its --metrics
    endpoint: Place,
    /// Time between two pictures
    #[arg(long, default_value = "1s", value_parser = interval)]
    interval: Span,
    /// Print one picture and end
    #[arg(long)]
    once: bool,
}

fn interval(text: &str) -> Result<Span, String> {
    let span: Option<Span> = text.parse().ok();
    let span = span.filter(|span| (Span::from_ms(50)..=Span::from_secs(3600)).contains(span));
    span.ok_or_else(|| format!("expected a time from 50ms to 3600s, not {text:?}"))
}

/// Without a terminal.
const PIPE_COLUMNS: usize = 100;

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    signal::catch()?;
    let mut source = Source::connect(&args.endpoint)?;
    let term = Term::buffered_stdout();
    let every = Duration::from_nanos(args.interval.as_ns());
    if args.once || !term.is_term() {
        let first = source.snapshot()?;
        signal::sleep(every)?;
        let mut screen = Screen::default();
        screen.add(&source.snapshot()?, Some(&first));
        return output::print_line(&screen.lines(PIPE_COLUMNS, None).join("\n"));
    }
    let _on_screen = OnScreen::begin(&term)?;
    live(&mut source, &term, every)
}

/// The terminal's second screen, until this is dropped.
struct OnScreen<'a>(&'a Term);

impl<'a> OnScreen<'a> {
    fn begin(term: &'a Term) -> Result<Self, Failure> {
        let screen = Self(term);
        term.write_str("\u{1b}[?1049h")?;
        term.hide_cursor()?;
        term.flush()?;
        Ok(screen)
    }
}

impl Drop for OnScreen<'_> {
    fn drop(&mut self) {
        let mut out = std::io::stdout();
        let _ = self.0.flush();
        let _ = out.write_all(b"\x1b[?25h\x1b[?1049l");
        let _ = out.flush();
    }
}

fn live(source: &mut Source, term: &Term, every: Duration) -> Result<(), Failure> {
    let keys = keys();
    let (mut screen, mut last) = (Screen::default(), None::<Snapshot>);
    let mut due = Instant::now();
    loop {
        let missing = match source.snapshot() {
            Ok(now) => {
                screen.add(&now, last.as_ref());
                last = Some(now);
                None
            }
            Err(failure) => Some(failure.to_string()),
        };
        let (rows, columns) = term.size();
        paint(term, &screen.lines(columns.into(), missing.as_deref()), rows.into())?;
        due += every;
        if wait(&keys, due)? {
            return Ok(());
        }
    }
}

/// Overwrites the previous picture line by line, so that nothing flickers.
fn paint(term: &Term, lines: &[String], rows: usize) -> Result<(), Failure> {
    term.move_cursor_to(0, 0)?;
    for (at, line) in lines.iter().take(rows).enumerate() {
        let end = if at + 1 < lines.len().min(rows) { "\r\n" } else { "" };
        term.write_str(&format!("{line}\u{1b}[K{end}"))?;
    }
    term.write_str("\u{1b}[J")?;
    Ok(term.flush()?)
}

/// Keys as they are pressed, read by a separate thread that ends with the process.
fn keys() -> Receiver<Key> {
    let (tell, told) = channel();
    std::thread::spawn(move || {
        let term = Term::stdout();
        while let Ok(key) = term.read_key_raw() {
            if tell.send(key).is_err() {
                return;
            }
        }
    });
    told
}

fn wait(keys: &Receiver<Key>, due: Instant) -> Result<bool, Failure> {
    loop {
        if signal::has_come() {
            return Ok(true);
        }
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        match keys.recv_timeout(left.min(Duration::from_millis(100))) {
            Ok(Key::Char('q' | 'Q') | Key::Escape | Key::CtrlC) => return Ok(true),
            Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            // No keys can be read: signals end it.
            Err(RecvTimeoutError::Disconnected) => signal::sleep(left.min(Duration::from_millis(100)))?,
        }
    }
}

fn change(now: &Snapshot, last: Option<&Snapshot>) -> Option<Change> {
    last.map(|last| Change::between(last, now))
}
