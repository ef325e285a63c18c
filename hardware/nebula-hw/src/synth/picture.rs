//! Two pictures: the stations of the pipeline, and the gates of each module on a logarithmic scale.

mod area;
mod pipeline;

pub(super) use area::draw as area;
pub(super) use pipeline::draw as pipeline;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use nebula_shell::Failure;

const PAPER: RGBColor = RGBColor(0xFE, 0xFE, 0xFE);
const INK: RGBColor = RGBColor(0x1B, 0x20, 0x28);
const MUTED: RGBColor = RGBColor(0x5A, 0x65, 0x74);
const GRID: RGBColor = RGBColor(0xDD, 0xE2, 0xE8);
const BLUE: RGBColor = RGBColor(0x0B, 0x57, 0xB0);
const ORANGE: RGBColor = RGBColor(0xB3, 0x4A, 0x00);
const GREEN: RGBColor = RGBColor(0x1A, 0x6E, 0x2E);
const PURPLE: RGBColor = RGBColor(0x7A, 0x2F, 0x9E);

type Surface<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type Drawn<'a> = Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>>;

/// Draws on a sheet of that size, and names the picture for screen readers.
fn sheet(title: &str, size: (u32, u32), draw: impl for<'a> Fn(&Surface<'a>) -> Drawn<'a>) -> Result<String, Failure> {
    let mut svg = String::new();
    let surface = SVGBackend::with_string(&mut svg, size).into_drawing_area();
    let drawn = surface.fill(&PAPER).and_then(|()| draw(&surface)).and_then(|()| surface.present());
    drawn.map_err(|reason| Failure::new(format!("draw {title}: {reason}")))?;
    drop(surface);
    let end = svg.find('>').map_or(0, |at| at + 1);
    svg.insert_str(end, &format!("\n<title>{title}</title>"));
    Ok(svg)
}

fn text<'a>(surface: &Surface<'a>, words: &str, at: (i32, i32), size: i32, color: RGBColor, to: HPos) -> Drawn<'a> {
    let style = ("sans-serif", size).into_font().color(&color).pos(Pos::new(to, VPos::Center));
    surface.draw_text(words, &style, at)
}
