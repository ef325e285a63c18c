//! Turns a settings file into words of a command line: `workers = 2` is `--workers=2`, and
//! `inline = true` is `--inline`. `inline = false` is `--engine-thread`, because it is not the
//! default of every server.

use toml::{Table, Value};

use nebula_ui::output::Failure;

/// The key that names the service of the settings.
pub(super) const SERVICE: &str = "service";

#[derive(Debug)]
pub(super) struct Settings {
    name: String,
    table: Table,
}

impl Settings {
    /// Reads the settings in `text` from the file `name`.
    pub(super) fn parse(name: &str, text: &str) -> Result<Self, Failure> {
        let table = text.parse::<Table>().map_err(|error| Failure::bad_input(format!("{name}: {error}")))?;
        Ok(Self { name: name.to_owned(), table })
    }

    /// The service of the settings, if the file names it.
    pub(super) fn service(&self) -> Result<Option<&str>, Failure> {
        match self.table.get(SERVICE) {
            None => Ok(None),
            Some(Value::String(service)) => Ok(Some(service)),
            Some(other) => {
                Err(self.wrong(SERVICE, &format!("expected a name such as \"kv\", not {}", other.type_str())))
            }
        }
    }

    /// The words for all settings but those of the flags in `given`; `flags` are all that the
    /// command has.
    pub(super) fn words(&self, flags: &[String], given: &[String]) -> Result<Vec<String>, Failure> {
        let mut words = Vec::new();
        for (key, value) in self.table.iter().filter(|(key, _)| *key != SERVICE) {
            let flag = key.replace('_', "-");
            if flag == "config" || !flags.contains(&flag) {
                return Err(self.unknown(key, flags));
            }
            if !given.iter().any(|given| *given == flag || opposite(given) == Some(&flag)) {
                self.add(&mut words, &flag, value)?;
            }
        }
        Ok(words)
    }

    fn add(&self, words: &mut Vec<String>, flag: &str, value: &Value) -> Result<(), Failure> {
        match value {
            Value::Boolean(true) => words.push(format!("--{flag}")),
            Value::Boolean(false) => words.extend(opposite(flag).map(|flag| format!("--{flag}"))),
            Value::String(text) => words.push(format!("--{flag}={text}")),
            Value::Integer(number) => words.push(format!("--{flag}={number}")),
            Value::Float(number) => words.push(format!("--{flag}={number}")),
            Value::Array(values) => return values.iter().try_for_each(|value| self.add(words, flag, value)),
            Value::Datetime(_) | Value::Table(_) => {
                return Err(self.wrong(flag, "expected text, a number, true or false, or a list of them"));
            }
        }
        Ok(())
    }

    fn wrong(&self, key: &str, what: &str) -> Failure {
        Failure::bad_input(format!("{}: {key}: {what}", self.name))
    }

    fn unknown(&self, key: &str, flags: &[String]) -> Failure {
        let flags = flags.iter().filter(|flag| !["config", "help"].contains(&flag.as_str()));
        let near = flags.min_by_key(|flag| distance(flag, &key.replace('_', "-")));
        let near = near.map_or(String::new(), |near| format!(": did you mean {near}?"));
        self.wrong(key, &format!("no such setting{near}"))
    }
}

fn opposite(flag: &str) -> Option<&'static str> {
    match flag {
        "inline" => Some("engine-thread"),
        "engine-thread" => Some("inline"),
        _ => None,
    }
}

/// The edit distance (Levenshtein).
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.chars().enumerate() {
        let mut before = row[0];
        row[0] = at + 1;
        for (index, &wanted) in other.iter().enumerate() {
            let changed = before + usize::from(letter != wanted);
            before = row[index + 1];
            row[index + 1] = changed.min(before + 1).min(row[index] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str, given: &[&str]) -> Result<Vec<String>, String> {
        let flags = ["workers", "inline", "insecure", "endpoint", "pin", "slo", "config", "metrics"].map(str::to_owned);
        let given: Vec<String> = given.iter().map(|flag| (*flag).to_owned()).collect();
        let settings = Settings::parse("kv.toml", text).map_err(|failure| failure.to_string())?;
        settings.words(&flags, &given).map_err(|failure| failure.to_string())
    }

    #[test]
    fn settings_are_flags_and_what_was_given_is_left_out() {
        let text = "service = 'kv'\nworkers = 2\ninline = true\nendpoint = 'shm://a'\npin = [0, 1]\n";
        assert_eq!(words(text, &[]).unwrap(), ["--workers=2", "--inline", "--endpoint=shm://a", "--pin=0", "--pin=1"]);
        assert_eq!(words(text, &["workers", "pin"]).unwrap(), ["--inline", "--endpoint=shm://a"]);
        assert_eq!(words("inline = false", &[]).unwrap(), ["--engine-thread"]);
        assert_eq!(words("inline = true", &["engine-thread"]).unwrap(), [""; 0]);
        assert_eq!(words("insecure = false", &[]).unwrap(), [""; 0]);
    }

    #[test]
    fn what_is_no_setting_is_refused_with_what_it_may_have_been() {
        assert_eq!(words("wokers = 2", &[]).unwrap_err(), "kv.toml: wokers: no such setting: did you mean workers?");
        assert!(words("config = 'other.toml'", &[]).unwrap_err().contains("no such setting"));
        assert!(words("workers = {a = 1}", &[]).unwrap_err().contains("expected text, a number"));
        assert!(words("workers = ", &[]).unwrap_err().starts_with("kv.toml: TOML parse error at line 1"));
    }
}
