//! One chart: lines with markers and intervals over two axes, as SVG whose colors a style sheet can change.
//!
//! Plotters writes colors into attributes, exactly as in [`PALETTE`]. In dark mode the style sheet replaces them by attribute selectors;
//! without a style sheet the light colors remain.
//!
//! | module | what it holds |
//! |---|---|
//! | `palette` | colors and looks |
//! | `axis` | axes and their ticks |
//! | `line` | lines, points, intervals, markers |
//! | `vega` | the same as data, for a browser to draw |

mod axis;
mod line;
mod palette;
mod vega;

pub(crate) use axis::{Axis, Unit, log_ticks, round_ticks, symlog, symlog_ticks, ticks_between};
pub(crate) use line::{Dot, Line, Marker, Stroke, block_sample, sample};
pub(crate) use palette::{BLUE, INK, MUTED, ORANGE, PALETTE, PAPER, block_look, hex, look};

use line::{Area, DrawError};
use palette::GRID;
use plotters::prelude::*;

/// The size in the units of the picture: narrow, so that text stays legible on a phone.
pub(super) const SIZE: (u32, u32) = (560, 400);
/// The font size. Plotters divides it by 1.24.
const FONT_SIZE: i32 = 19;
/// Width of the tick labels of the vertical axis.
const LEFT: u32 = 64;

/// A bound: a labeled line from edge to edge.
#[derive(Clone, Debug)]
pub(crate) struct Bound {
    pub(crate) y: f64,
    pub(crate) label: String,
}

/// The content of a chart.
#[derive(Clone, Debug)]
pub(crate) struct Chart {
    /// The title, which screen readers announce.
    pub(crate) title: String,
    /// The content as text, for screen readers.
    pub(crate) description: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) lines: Vec<Line>,
    pub(crate) bound: Option<Bound>,
}

impl Chart {
    /// The chart as an `svg` element; `id` is unique in its page.
    pub(crate) fn to_svg(&self, id: &str) -> String {
        // Drawing into a string cannot fail. If it did, the page would show the reason instead of the chart.
        match self.drawn() {
            Ok(drawn) => in_page(&drawn, id, &self.title, &self.description),
            Err(reason) => format!("<p>Cannot draw this chart: {}.</p>", super::markup::escape(&reason)),
        }
    }

    /// The elements that plotters draws, without the opening tag.
    pub(super) fn drawn(&self) -> Result<String, String> {
        let mut svg = String::new();
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        self.draw_on(&area).and_then(|()| area.present()).map_err(|error| error.to_string())?;
        drop(area);
        Ok(svg.find('>').map_or(String::new(), |end| svg[end + 1..].to_owned()))
    }

    fn draw_on<'a>(&self, area: &Area<'a>) -> Result<(), DrawError<'a>> {
        let font = ("sans-serif", FONT_SIZE).into_font().color(&INK);
        let mut chart = ChartBuilder::on(area)
            .margin(8)
            .margin_right(34)
            .margin_top(34)
            .x_label_area_size(52)
            .y_label_area_size(self.left())
            .build_cartesian_2d(self.x.range(), self.y.range())?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID)
            .axis_style(MUTED)
            .label_style(font.clone())
            .x_desc(&self.x.label)
            .x_label_formatter(&|at| self.x.label_of(*at))
            .y_label_formatter(&|at| self.y.label_of(*at))
            .draw()?;
        // The label of the vertical axis is horizontal, above the axis: rotated text is hard to read.
        area.draw(&Text::new(self.y.label.clone(), (8, 8), font.clone()))?;
        self.lines.iter().try_for_each(|line| line.draw(&mut chart, (&self.x, &self.y)))?;
        // Drawn last, so that no line crosses its label.
        if let Some(bound) = &self.bound {
            let ends = [(self.x.from, bound.y), (self.x.to, bound.y)];
            chart.draw_series(DashedLineSeries::new(ends, 2, 4, INK.stroke_width(2)))?;
            let (end, offset) = self.free_place(bound);
            let label = EmptyElement::at(ends[end]) + Text::new(bound.label.clone(), offset, font);
            chart.draw_series([label])?;
        }
        Ok(())
    }

    /// A place for the label of a bound that covers no point: at the left or right end, above or below the line.
    fn free_place(&self, bound: &Bound) -> (usize, (i32, i32)) {
        const CHAR_WIDTH: i32 = 9;
        let length = CHAR_WIDTH * i32::try_from(bound.label.chars().count()).unwrap_or(0);
        let share = |at: f64, axis: &Axis| (at - axis.from) / (axis.to - axis.from);
        let (long, high) = (f64::from(length + 24) / f64::from(SIZE.0 - 100), 0.09);
        let is_free = |&(end, is_above, _): &(usize, bool, (i32, i32))| {
            let dots = self.lines.iter().flat_map(|line| &line.dots);
            !dots.map(|dot| (share(dot.x, &self.x), share(dot.y, &self.y) - share(bound.y, &self.y))).any(
                |(x, above)| {
                    let is_beside = if end == 0 { x < long } else { x > 1.0 - long };
                    is_beside && if is_above { (0.0..high).contains(&above) } else { (-high..0.0).contains(&above) }
                },
            )
        };
        let right = -length - 8;
        let places = [(0, true, (8, -20)), (1, true, (right, -20)), (0, false, (8, 8)), (1, false, (right, 8))];
        places.iter().find(|place| is_free(place)).map_or((0, (8, -20)), |&(end, _, offset)| (end, offset))
    }

    /// The width of the tick labels of the vertical axis: text needs more room than numbers.
    fn left(&self) -> u32 {
        const CHAR_WIDTH: u32 = 9;
        let longest = self.y.ticks.iter().map(|tick| tick.1.chars().count()).max().unwrap_or(0);
        u32::try_from(longest).map_or(LEFT, |chars| (16 + CHAR_WIDTH * chars).clamp(LEFT, SIZE.0 / 3))
    }
}

/// The drawing in an `svg` element that scales with the page and has a title and a description for screen readers.
fn in_page(drawn: &str, id: &str, title: &str, description: &str) -> String {
    let (width, height) = SIZE;
    format!(
        "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-labelledby=\"{id}-title {id}-desc\">\
         <title id=\"{id}-title\">{}</title><desc id=\"{id}-desc\">{}</desc>{drawn}",
        super::markup::escape(title),
        super::markup::escape(description),
    )
}
