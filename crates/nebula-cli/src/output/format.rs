//! `--format`: the form of the results.

/// The form of the results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Table,
    /// One object a line.
    Json,
    /// A line of names, then a line a result.
    Csv,
}
