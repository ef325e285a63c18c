//! The program's reports, in the frame of `nebula-ui`.

pub(crate) mod finding;
pub(crate) mod load;
pub(crate) mod sweep;

pub(crate) use nebula_ui::report::{chart, check_directory, made_by_this_command, page, plot, write, write_plot};
