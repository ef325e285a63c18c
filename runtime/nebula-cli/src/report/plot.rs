//! A single chart with title and legend, as an SVG file.

use std::path::Path;

use super::chart::{INK, PALETTE, PAPER, SIZE, hex};
use super::markup::escape;
use super::page::Figure;
use nebula_ui::output::Failure;

/// Checks that `path` names an SVG file.
///
/// # Errors
///
/// Invalid input: another file extension, or none.
pub(crate) fn check_plot(path: &Path) -> Result<(), Failure> {
    if path.extension().is_some_and(|ending| ending == "svg") {
        return Ok(());
    }
    let name = path.display();
    Err(Failure::bad_input(format!(
        "--plot: give a file that ends in .svg, not {name}; convert it to PNG with rsvg-convert"
    )))
}

/// Heights of the title and of a line of the legend.
const TITLE: u32 = 40;
const ROW: u32 = 24;

/// The figure as a standalone document, with colors for light and dark mode.
pub(crate) fn to_svg(figure: &Figure) -> Result<String, String> {
    let dark: String = PALETTE
        .iter()
        .map(|&(_, light, dark)| {
            let (light, dark) = (hex(light), hex(dark));
            format!("[fill=\"{light}\"]{{fill:{dark}}}[stroke=\"{light}\"]{{stroke:{dark}}}")
        })
        .collect();
    let paper = hex(PALETTE[0].2);
    document(figure, &format!("{}@media (prefers-color-scheme:dark){{{dark}text{{stroke:{paper}}}}}", style()))
}

/// A rim in the background color around text, so that lines do not cross it.
fn style() -> String {
    format!("text{{font-family:sans-serif;paint-order:stroke;stroke:{};stroke-width:4px}}", hex(PAPER))
}

fn document(figure: &Figure, style: &str) -> Result<String, String> {
    let drawn = figure.chart.drawn()?;
    let (width, legend) = (SIZE.0, legend(figure));
    let height = TITLE + SIZE.1 + ROW * u32::try_from(figure.legend.len().div_ceil(COLUMNS)).unwrap_or(0) + ROW / 2;
    let (paper, ink, title) = (hex(PAPER), hex(INK), escape(&figure.chart.title));
    Ok(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n\
         <title>{title}</title>\n<desc>{}</desc>\n<style>{style}</style>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"{paper}\"/>\n\
         <text x=\"12\" y=\"28\" font-size=\"18\" font-weight=\"bold\" fill=\"{ink}\">{title}</text>\n\
         <svg y=\"{TITLE}\" width=\"{width}\" height=\"{}\">\n{drawn}\n{legend}</svg>\n",
        escape(&figure.chart.description),
        SIZE.1,
    ))
}

const COLUMNS: usize = 2;

fn legend(figure: &Figure) -> String {
    let width = SIZE.0 / 2;
    let mut at = (12, TITLE + SIZE.1);
    let mut rows = String::new();
    for (index, (sample, text)) in figure.legend.iter().enumerate() {
        let sample =
            sample.replace("class=\"sample\"", &format!("x=\"{}\" y=\"{}\" width=\"40\" height=\"16\"", at.0, at.1));
        let (x, y, ink) = (at.0 + 50, at.1 + 13, hex(INK));
        rows.push_str(&format!(
            "{sample}<text x=\"{x}\" y=\"{y}\" font-size=\"14\" fill=\"{ink}\">{}</text>\n",
            escape(text)
        ));
        at = if index % COLUMNS == COLUMNS - 1 { (12, at.1 + ROW) } else { (at.0 + width, at.1) };
    }
    rows
}
