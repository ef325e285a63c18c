//! `--format`: the output format.

/// The output format of results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Aligned table for people.
    #[default]
    Table,
    /// JSON lines: one object per result.
    Json,
    /// CSV with a header line.
    Csv,
}
