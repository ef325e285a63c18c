//! `nebula sweep`: a question at every point of a study's grid, with results kept from run to run.

use std::path::PathBuf;

use nebula_lab::sweep::{self, Cache, Point, PointResult, Study};

use nebula_ui::output::Format;
use nebula_ui::output::{self, Failure, Row};

const EXAMPLES: &str = "Examples:
  nebula sweep study.toml                                  a table, a row for each point
  nebula sweep study.toml --format csv > study.csv         one value a cell; intervals are _lo and _hi
  nebula sweep study.toml --points                         list the points and stop
  nebula sweep study.toml --cache results --threads 2

A study:
  question = \"simulate\"                 # or compare, or size
  [fixed]                               # flags of the question, with _ or -
  cores = 16
  queue_bound = 100
  rpcs = \"50k\"
  [grid]                                # each axis a list or a range; the last one runs fastest
  policy = [\"rss\", \"jbsq:2\"]
  load = \"0.5..0.95:10\"

  With machine = \"isca20\" and rate among them, [grid.set.memory.dram] with banks = [16, 32] is the flag --set memory.dram.banks=16,
  and then 32.

Each point is simulated on one thread, and points side by side. A result is kept under a digest of Nebula's version, the flags, the seed
and the files they name: a study that was interrupted goes on where it was, and one that was changed simulates only what is new. A point
that cannot be simulated is a row with its error; the others go on, and the exit code is 1. The same study gives the same output, on any
number of threads.";

/// Ask a question at every point of a grid, and keep what is known
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The study
    #[arg(value_name = "FILE.toml")]
    study: PathBuf,
    /// Folder of results [default: nebula/lab in the user's cache folder]
    #[arg(long, value_name = "FOLDER")]
    cache: Option<PathBuf>,
    /// Neither read nor keep results
    #[arg(long, conflicts_with = "cache")]
    no_cache: bool,
    /// List the points and stop
    #[arg(long)]
    points: bool,
    /// Threads to run points on [default: number of cores]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let text = nebula_files::text(&args.study)
        .map_err(|error| Failure::bad_input(format!("cannot read {}: {error}", args.study.display())))?;
    let named = |failure: nebula_lab::Failure| Failure::bad_input(format!("{}: {failure}", args.study.display()));
    let points = Study::parse(&text).and_then(|study| study.points()).map_err(named)?;
    if args.points {
        return output::print(args.format, &points.iter().map(listed).collect::<Vec<_>>());
    }
    let bar = crate::progress::Bar::of_points();
    let results = sweep::run(&points, &cache(args)?, args.threads, &bar)?;
    bar.finish();
    print(args.format, &results)?;
    results.iter().flat_map(PointResult::notes).for_each(output::note);
    match results.iter().filter_map(PointResult::error).collect::<Vec<_>>()[..] {
        [] => Ok(()),
        [first, ..] => {
            let failed = results.iter().filter(|result| result.error().is_some()).count();
            Err(Failure::fault(format!("{failed} of {} points failed, the first of them: {first}", results.len())))
        }
    }
}

fn cache(args: &Args) -> Result<Cache, Failure> {
    match (args.no_cache, args.cache.clone().or_else(Cache::of_user)) {
        (true, _) | (false, None) => Ok(Cache::none()),
        (false, Some(folder)) => Ok(Cache::at(&folder)?),
    }
}

fn listed(point: &Point) -> Row {
    let command = format!("nebula {} {}", point.kind().name(), point.words().join(" "));
    Row::new().field("command", command.clone()).field("key", point.key()).word("command", command)
}

/// A table has only the points that were simulated: failed ones lack its columns, and are reported
/// below.
fn print(format: Format, results: &[PointResult]) -> Result<(), Failure> {
    let is_shown = |result: &&PointResult| format != Format::Table || result.error().is_none();
    let rows: Vec<Row> = results.iter().filter(is_shown).flat_map(PointResult::rows).collect();
    if rows.is_empty() { Ok(()) } else { output::print(format, &rows) }
}
