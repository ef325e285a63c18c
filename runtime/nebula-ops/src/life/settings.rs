//! `--config FILE` and `nebula config check`: a flag overrides the file, and the file the default.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};

use nebula_ui::words::in_one_line;

use super::log;
use super::toml_words::Settings;
use nebula_ui::output::Format;
use nebula_ui::output::{self, Failure, Row};

const EXAMPLES: &str = "Examples:
  nebula config check kv.toml                             whether a server would begin with it, and with what settings
  nebula config check kv.toml --format json
  nebula serve kv --config kv.toml --slo 50us             with the file's settings but for the SLO

A file has a line for each flag of nebula serve, without its dashes: workers = 2, inline = true, endpoint = \"shm://kv\", pin = [0, 1]. service = \"kv\", \"echo\", \"ordered\" or \"nf\" says whose settings they are (kv unless it is said). A flag on the command line comes before the file, and the file before the default.";

/// Settings of a service in a file
#[derive(Debug, clap::Subcommand)]
pub enum ConfigCommand {
    /// `nebula config check`.
    Check(CheckArgs),
}

/// Check a file of settings without serving, and print every setting with where it comes from
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct CheckArgs {
    /// The file, in TOML
    file: PathBuf,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// The service of a file that names none.
const SERVICE: &str = "kv";

/// Appends the settings of a `--config` file to the words of `nebula serve SERVICE`.
///
/// # Errors
///
/// Invalid input: the file cannot be read, or has an unknown setting.
pub fn with_settings(
    program: &Command,
    given_words: impl IntoIterator<Item = OsString>,
) -> Result<Vec<OsString>, Failure> {
    let mut all: Vec<OsString> = given_words.into_iter().collect();
    let words: Vec<String> = all.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let [_, serve, service, flags @ ..] = words.as_slice() else { return Ok(all) };
    let Some(path) = (serve == "serve").then(|| config_of(flags)).flatten() else { return Ok(all) };
    let Some(command) = service_command(program, service) else { return Ok(all) };
    let settings = read(Path::new(path))?;
    if let Some(other) = settings.service()?.filter(|other| other != service) {
        return Err(Failure::bad_input(format!("{path}: the settings are of nebula serve {other}, not {service}")));
    }
    let from_file = settings.words(&names(command), &given(flags))?;
    all.extend(from_file.iter().map(OsString::from));
    let (command, path) = (command.clone(), path.to_owned());
    let _ = BEGUN.set(Begun { command, path, flags: flags.to_vec(), from_file });
    Ok(all)
}

/// The settings that this process has begun with.
struct Begun {
    command: Command,
    path: String,
    /// Of the command line.
    flags: Vec<String>,
    from_file: Vec<String>,
}

static BEGUN: OnceLock<Begun> = OnceLock::new();

/// Reads the `--config` file again: changes the level of the log, and names the settings that need
/// a restart. A file with a mistake changes nothing.
pub(super) fn read_again() {
    let Some(begun) = BEGUN.get() else { return };
    match begun.again() {
        Ok((level, changed)) => {
            log::change(level);
            tracing::info!("read {} again", begun.path);
            if !changed.is_empty() {
                tracing::warn!("{}: changed, and needs a restart: {}", begun.path, changed.join(", "));
            }
        }
        Err(failure) => tracing::warn!("the settings stay as they were: {failure}"),
    }
}

impl Begun {
    /// The level of the log, and the other settings that differ from those of the beginning.
    fn again(&self) -> Result<(log::Level, Vec<String>), Failure> {
        let from_file = read(Path::new(&self.path))?.words(&names(&self.command), &given(&self.flags))?;
        let words = self.flags.iter().chain(&from_file);
        let matches = parsed(&self.command, Path::new(&self.path), words)?;
        let level = matches.get_one::<log::Level>("log").copied().unwrap_or_default();
        let mut changed = given(&from_file);
        changed.extend(given(&self.from_file));
        changed.sort();
        changed.dedup();
        let has_changed = |flag: &String| of_flag(&from_file, flag).ne(of_flag(&self.from_file, flag));
        changed.retain(|flag| flag != "log" && has_changed(flag));
        Ok((level, changed))
    }
}

fn of_flag<'a>(words: &'a [String], flag: &'a str) -> impl Iterator<Item = &'a str> {
    let value = move |word: &'a String| word.strip_prefix("--")?.strip_prefix(flag);
    words.iter().filter_map(value).filter(|value| value.is_empty() || value.starts_with('='))
}

/// The matches of a service's words, or what is wrong about them in one line.
fn parsed(
    command: &Command,
    path: &Path,
    words: impl IntoIterator<Item = impl Into<OsString> + Clone>,
) -> Result<ArgMatches, Failure> {
    command.clone().no_binary_name(true).try_get_matches_from(words).map_err(|error| {
        let said = in_one_line(&error.render().to_string());
        Failure::bad_input(format!("{}: {said}", path.display()))
    })
}

fn config_of(flags: &[String]) -> Option<&str> {
    let value = |(at, word): (usize, &String)| match word.strip_prefix("--config")? {
        "" => flags.get(at + 1).map(|_| at + 1).map(|at| (at, 0)),
        rest => rest.strip_prefix('=').map(|value| (at, word.len() - value.len())),
    };
    let (at, from) = flags.iter().enumerate().filter_map(value).next_back()?;
    Some(&flags[at][from..])
}

/// The names of the flags among these words.
fn given(flags: &[String]) -> Vec<String> {
    let name = |word: &String| Some(word.strip_prefix("--")?.split('=').next()?.to_owned());
    flags.iter().filter_map(name).collect()
}

fn service_command<'a>(program: &'a Command, service: &str) -> Option<&'a Command> {
    program.find_subcommand("serve")?.find_subcommand(service)
}

fn names(command: &Command) -> Vec<String> {
    command.get_arguments().filter_map(|arg| arg.get_long().map(str::to_owned)).collect()
}

fn read(path: &Path) -> Result<Settings, Failure> {
    let name = path.display().to_string();
    let text = nebula_files::text(path).map_err(|error| Failure::bad_input(format!("cannot read {name}: {error}")))?;
    Settings::parse(&name, &text)
}

/// The service that a file has settings of.
///
/// # Errors
///
/// Invalid input: the file cannot be read, or is no TOML.
pub fn service_of(args: &CheckArgs) -> Result<String, Failure> {
    let settings = read(&args.file)?;
    Ok(settings.service()?.unwrap_or(SERVICE).to_owned())
}

/// Prints the settings of a file, after `check` has found nothing that the service would refuse.
///
/// # Errors
///
/// Invalid input: the file has a mistake, or `check` fails.
pub fn check(
    args: &CheckArgs,
    program: &Command,
    check: impl FnOnce(&str, &ArgMatches) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let settings = read(&args.file)?;
    let service = settings.service()?.unwrap_or(SERVICE);
    let Some(command) = service_command(program, service) else {
        return Err(Failure::bad_input(format!("{}: there is no nebula serve {service}", args.file.display())));
    };
    let words = settings.words(&names(command), &[])?;
    let given = parsed(command, &args.file, words)?;
    check(service, &given).map_err(|failure| match failure {
        Failure::BadInput(said) => Failure::bad_input(format!("{}: {said}", args.file.display())),
        other => other,
    })?;
    output::print(args.format, &rows(command, &given))
}

fn rows(command: &Command, given: &ArgMatches) -> Vec<Row> {
    let settings = command.get_arguments().filter(|arg| !["help", "config"].contains(&arg.get_id().as_str()));
    settings.filter_map(|arg| row(arg.get_long()?, arg.get_id().as_str(), given)).collect()
}

fn row(name: &str, id: &str, given: &ArgMatches) -> Option<Row> {
    let from = match given.value_source(id) {
        Some(ValueSource::CommandLine) => "file",
        Some(_) => "default",
        None => "none",
    };
    let raw = given.try_get_raw(id).ok()?;
    let values: Vec<_> = raw.into_iter().flatten().map(|value| value.to_string_lossy().into_owned()).collect();
    let value = values.join(",");
    let row = Row::new().field("setting", name).field("value", value.as_str()).field("from", from);
    Some(row.word("setting", name).word("value", value).word("from", from))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[&str]) -> Option<String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        config_of(&words).map(str::to_owned)
    }

    #[test]
    fn the_file_is_found_however_its_flag_is_written() {
        assert_eq!(of(&["--inline", "--config", "a.toml"]), Some("a.toml".to_owned()));
        assert_eq!(of(&["--config=a.toml", "--config=b.toml"]), Some("b.toml".to_owned()));
        assert_eq!((of(&["--config"]), of(&["--inline"])), (None, None));
    }
}
