//! A chart by itself, with its title and its legend: a file of SVG, or of PNG for what takes no SVG.
//!
//! The PNG is drawn from the same SVG, with letters that come with the program, so that it looks the same on every machine.

use std::path::Path;
use std::sync::Arc;

use resvg::{tiny_skia, usvg};

use super::palette::{PALETTE, PAPER, hex};
use super::{INK, SIZE};
use crate::output::Failure;
use crate::report::page::{Figure, escape};

/// The kinds of files that a chart can become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlotKind {
    Svg,
    Png,
}

/// The kind that the name of a file asks for.
///
/// # Errors
///
/// Bad input: another ending, or none.
pub(crate) fn plot_kind(path: &Path) -> Result<PlotKind, Failure> {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("svg") => Ok(PlotKind::Svg),
        Some("png") => Ok(PlotKind::Png),
        _ => Err(Failure::bad_input(format!("--plot: give a file that ends in .svg or .png, not {}", path.display()))),
    }
}

/// Heights of the title and of a line of the legend.
const TITLE: u32 = 40;
const ROW: u32 = 24;

/// The figure as a document of its own. Where it is shown in the dark, its colors change.
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

/// The figure as a picture of twice the size, light.
pub(crate) fn to_png(figure: &Figure) -> Result<Vec<u8>, String> {
    const SCALE: f32 = 2.0;
    let tree = usvg::Tree::from_str(&document(figure, &style())?, &options()).map_err(|error| error.to_string())?;
    let size = tree.size().to_int_size().scale_by(SCALE).ok_or("a chart of no size")?;
    let mut picture = tiny_skia::Pixmap::new(size.width(), size.height()).ok_or("a chart of no size")?;
    resvg::render(&tree, tiny_skia::Transform::from_scale(SCALE, SCALE), &mut picture.as_mut());
    picture.encode_png().map_err(|error| error.to_string())
}

/// Letters of their own: none of the machine's.
fn options() -> usvg::Options<'static> {
    const LETTERS: &[u8] = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/DejaVuSans-subset.ttf"));
    let mut fonts = usvg::fontdb::Database::new();
    fonts.load_font_data(LETTERS.to_vec());
    fonts.set_sans_serif_family("DejaVu Sans");
    usvg::Options { fontdb: Arc::new(fonts), font_family: "DejaVu Sans".to_owned(), ..usvg::Options::default() }
}

/// A rim of paper round the letters, so that no line strikes them out.
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
