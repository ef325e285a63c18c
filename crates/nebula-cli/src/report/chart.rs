//! One chart: lines with markers and intervals over two axes, as SVG whose colors a style sheet can change.
//!
//! Plotters writes colors into attributes. Each color of the palette is written exactly as in [`PALETTE`], and the style sheet
//! replaces it by attribute when the reader prefers dark; without a style sheet the light ones remain.
//!
//! | module | what it holds |
//! |---|---|
//! | `palette` | colors and looks |
//! | `axis` | axes and their ticks |
//! | `line` | lines, points, intervals, markers |

mod axis;
mod line;
mod palette;

pub(crate) use axis::{Axis, log_ticks, round_ticks, symlog, symlog_ticks, ticks_between};
pub(crate) use line::{Dot, Line, Marker, Stroke, block_sample, sample};
pub(crate) use palette::{BLUE, INK, MUTED, ORANGE, PALETTE, PAPER, block_look, hex, look};

use line::{Area, DrawError};
use palette::GRID;
use plotters::prelude::*;

/// The size in the units of the picture: narrow, so that its letters stay legible on a phone.
pub(super) const SIZE: (u32, u32) = (560, 400);
/// The size of letters. Plotters divides it by 1.24.
const LETTERS: i32 = 19;
/// Room for the ticks of the vertical axis.
const LEFT: u32 = 64;

/// A bound: a line from edge to edge with its name on it.
#[derive(Clone, Debug)]
pub(crate) struct Bound {
    pub(crate) y: f64,
    pub(crate) label: String,
}

/// Everything that a chart shows.
#[derive(Clone, Debug)]
pub(crate) struct Chart {
    /// What screen readers announce.
    pub(crate) title: String,
    /// What it shows, in words, for those who do not see it.
    pub(crate) description: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) lines: Vec<Line>,
    pub(crate) bound: Option<Bound>,
}

impl Chart {
    /// The chart as an `svg` element; `id` is unique in its page.
    pub(crate) fn to_svg(&self, id: &str) -> String {
        // Drawing into a string cannot fail; were it to, the page would say so in the chart's place.
        match self.drawn() {
            Ok(drawn) => in_page(&drawn, id, &self.title, &self.description),
            Err(reason) => format!("<p>This chart could not be drawn: {}.</p>", super::markup::escape(&reason)),
        }
    }

    /// What plotters draws, between the opening tag and the end.
    pub(super) fn drawn(&self) -> Result<String, String> {
        let mut svg = String::new();
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        self.draw_on(&area).and_then(|()| area.present()).map_err(|error| error.to_string())?;
        drop(area);
        Ok(svg.find('>').map_or(String::new(), |end| svg[end + 1..].to_owned()))
    }

    fn draw_on<'a>(&self, area: &Area<'a>) -> Result<(), DrawError<'a>> {
        let letters = ("sans-serif", LETTERS).into_font().color(&INK);
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
            .label_style(letters.clone())
            .x_desc(&self.x.label)
            .x_label_formatter(&|at| self.x.label_of(*at))
            .y_label_formatter(&|at| self.y.label_of(*at))
            .draw()?;
        // The name of the vertical axis stands level above it: turned letters are hard to read.
        area.draw(&Text::new(self.y.label.clone(), (8, 8), letters.clone()))?;
        self.lines.iter().try_for_each(|line| line.draw(&mut chart, (&self.x, &self.y)))?;
        // Last, so that no line strikes out its name.
        if let Some(bound) = &self.bound {
            let ends = [(self.x.from, bound.y), (self.x.to, bound.y)];
            chart.draw_series(DashedLineSeries::new(ends, 2, 4, INK.stroke_width(2)))?;
            let (end, offset) = self.free_place(bound);
            let label = EmptyElement::at(ends[end]) + Text::new(bound.label.clone(), offset, letters);
            chart.draw_series([label])?;
        }
        Ok(())
    }

    /// Where the name of a bound stands on no point: at its left end or its right, above it or below.
    fn free_place(&self, bound: &Bound) -> (usize, (i32, i32)) {
        const LETTER: i32 = 9;
        let length = LETTER * i32::try_from(bound.label.chars().count()).unwrap_or(0);
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

    /// Ticks with words beside the vertical axis take more room than numbers.
    fn left(&self) -> u32 {
        const LETTER: u32 = 9;
        let longest = self.y.ticks.iter().map(|tick| tick.1.chars().count()).max().unwrap_or(0);
        u32::try_from(longest).map_or(LEFT, |letters| (16 + LETTER * letters).clamp(LEFT, SIZE.0 / 3))
    }
}

/// What plotters drew, with an opening tag that scales with the page and that screen readers understand.
fn in_page(drawn: &str, id: &str, title: &str, description: &str) -> String {
    let (width, height) = SIZE;
    format!(
        "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-labelledby=\"{id}-title {id}-desc\">\
         <title id=\"{id}-title\">{}</title><desc id=\"{id}-desc\">{}</desc>{drawn}",
        super::markup::escape(title),
        super::markup::escape(description),
    )
}
