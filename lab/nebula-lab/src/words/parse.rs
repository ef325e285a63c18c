//! Reads a question from its words; an error is one line.

use clap::{ArgMatches, Args, Command, FromArgMatches};

use nebula_ui::words::in_one_line;

use crate::Failure;

/// The question `name` of these words, and the raw words, which distinguish given values from
/// defaults. The error names the first unknown or invalid word.
pub(crate) fn parsed<Q: Args + FromArgMatches>(
    name: &'static str,
    words: impl IntoIterator<Item = impl Into<String>>,
) -> Result<(Q, ArgMatches), Failure> {
    let command = Q::augment_args(Command::new(name).no_binary_name(true).disable_help_flag(true));
    let words = words.into_iter().map(Into::into);
    let told = |error: clap::Error| Failure::BadInput(in_one_line(&error.render().to_string()));
    let given = command.try_get_matches_from(words).map_err(told)?;
    let question = Q::from_arg_matches(&given).map_err(told)?;
    Ok((question, given))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::EffortArgs;

    #[test]
    fn what_is_wrong_with_a_word_is_told_in_one_line() {
        let said =
            |words: &[&str]| parsed::<EffortArgs>("effort", words.iter().copied()).map(|_| ()).unwrap_err().to_string();
        assert_eq!(
            said(&["--rpcs", "many"]),
            "invalid value 'many' for '--rpcs <RPCS>': expected a whole number such as 1600000 or 1.6M, not \"many\""
        );
        assert!(said(&["--rpc", "1"]).starts_with("unexpected argument '--rpc' found"));
    }
}
