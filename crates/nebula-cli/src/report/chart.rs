//! One chart: lines with markers over two axes, as SVG whose colors the page's style sheet can change.
//!
//! Plotters writes colors into attributes. Each color of the palette is written exactly as in [`PALETTE`], and the style sheet
//! replaces it by attribute when the reader prefers dark; without a style sheet the light ones remain.
//!
//! A logarithmic axis is a linear one over logarithms: the caller hands in `log10` of its values and the ticks to label.

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

/// The colors, light and dark, each at least 4.5 to 1 against its paper; the lines of the grid are fainter on purpose.
pub(super) const PALETTE: [(RGBColor, RGBColor); 6] = [
    (PAPER, RGBColor(0x12, 0x16, 0x1C)),
    (INK, RGBColor(0xE6, 0xEA, 0xF0)),
    (GRID, RGBColor(0x33, 0x3B, 0x46)),
    (BLUE, RGBColor(0x6C, 0xB4, 0xFF)),
    (ORANGE, RGBColor(0xFF, 0xA0, 0x57)),
    (MUTED, RGBColor(0xA3, 0xAE, 0xBC)),
];
pub(super) const PAPER: RGBColor = RGBColor(0xFE, 0xFE, 0xFE);
pub(super) const INK: RGBColor = RGBColor(0x1B, 0x20, 0x28);
const GRID: RGBColor = RGBColor(0xDD, 0xE2, 0xE8);
pub(super) const BLUE: RGBColor = RGBColor(0x0B, 0x57, 0xB0);
pub(super) const ORANGE: RGBColor = RGBColor(0xB3, 0x4A, 0x00);
pub(super) const MUTED: RGBColor = RGBColor(0x5A, 0x65, 0x74);

/// The size in the units of the picture: narrow, so that its letters stay legible on a phone.
const SIZE: (u32, u32) = (560, 400);
/// The size of letters. Plotters divides it by 1.24.
const LETTERS: i32 = 19;
const MARKER: i32 = 5;

/// An axis: what it shows, from where to where, and the labeled ticks.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    pub(super) label: String,
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) ticks: Vec<(f64, String)>,
}

impl Axis {
    fn label_of(&self, at: f64) -> String {
        let nearest = self.ticks.iter().find(|tick| (tick.0 - at).abs() < 1e-9 * (1.0 + at.abs()));
        nearest.map(|tick| tick.1.clone()).unwrap_or_default()
    }

    fn range(&self) -> Ticked {
        Ticked { scale: (self.from..self.to).into(), ticks: self.ticks.iter().map(|tick| tick.0).collect() }
    }
}

/// A linear scale whose ticks are given: plotters would choose its own.
struct Ticked {
    scale: RangedCoordf64,
    ticks: Vec<f64>,
}

impl Ranged for Ticked {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        self.scale.map(value, limit)
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() { Vec::new() } else { self.ticks.clone() }
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.scale.range()
    }
}

/// The shape that tells a line apart without its color.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marker {
    Circle,
    Square,
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stroke {
    Solid,
    Dashed,
    /// Markers alone.
    None,
}

/// A point of a line; a hollow marker says that there is more to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Dot {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) is_hollow: bool,
}

/// A line with its markers; none for a curve of very many points.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) color: RGBColor,
    pub(super) marker: Option<Marker>,
    pub(super) stroke: Stroke,
    pub(super) dots: Vec<Dot>,
}

/// A bound: a line from edge to edge with its name on it.
#[derive(Clone, Debug)]
pub(super) struct Bound {
    pub(super) y: f64,
    pub(super) label: String,
}

/// Everything that a chart shows.
#[derive(Clone, Debug)]
pub(super) struct Chart {
    /// What screen readers announce.
    pub(super) title: String,
    /// What it shows, in words, for those who do not see it.
    pub(super) description: String,
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) lines: Vec<Line>,
    pub(super) bound: Option<Bound>,
}

type DrawError<'a> = DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>;

impl Chart {
    /// The chart as an `svg` element; `id` is unique in its page.
    pub(super) fn to_svg(&self, id: &str) -> String {
        let mut svg = String::new();
        // Drawing into a string cannot fail; were it to, the page would say so in the chart's place.
        match self.draw(&mut svg) {
            Ok(()) => in_page(&svg, id, &self.title, &self.description),
            Err(reason) => format!("<p>This chart could not be drawn: {}.</p>", super::page::escape(&reason)),
        }
    }

    fn draw(&self, svg: &mut String) -> Result<(), String> {
        let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
        self.draw_on(&area).and_then(|()| area.present()).map_err(|error| error.to_string())
    }

    fn draw_on<'a>(&self, area: &DrawingArea<SVGBackend<'a>, plotters::coord::Shift>) -> Result<(), DrawError<'a>> {
        let letters = ("sans-serif", LETTERS).into_font().color(&INK);
        let mut chart = ChartBuilder::on(area)
            .margin(8)
            .margin_right(34)
            .margin_top(34)
            .x_label_area_size(52)
            .y_label_area_size(64)
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
        self.lines.iter().try_for_each(|line| line.draw(&mut chart))?;
        // Last, so that no line strikes out its name.
        if let Some(bound) = &self.bound {
            let ends = [(self.x.from, bound.y), (self.x.to, bound.y)];
            chart.draw_series(DashedLineSeries::new(ends, 2, 4, INK.stroke_width(2)))?;
            let label = EmptyElement::at(ends[0]) + Text::new(bound.label.clone(), (8, -20), letters);
            chart.draw_series([label])?;
        }
        Ok(())
    }
}

type Plane<'a, 'b, X, Y> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<X, Y>>;

impl Line {
    fn draw<'b, X, Y>(&self, chart: &mut Plane<'_, 'b, X, Y>) -> Result<(), DrawError<'b>>
    where
        X: Ranged<ValueType = f64>,
        Y: Ranged<ValueType = f64>,
    {
        let points = self.dots.iter().map(|dot| (dot.x, dot.y));
        let style = self.color.stroke_width(2);
        match self.stroke {
            Stroke::Solid => chart.draw_series(LineSeries::new(points, style))?,
            Stroke::Dashed => chart.draw_series(DashedLineSeries::new(points, 7, 5, style))?,
            Stroke::None => chart.draw_series(LineSeries::new([], style))?,
        };
        let Some(marker) = self.marker else { return Ok(()) };
        for dot in &self.dots {
            let inside = if dot.is_hollow { PAPER } else { self.color };
            marker.draw(chart, (dot.x, dot.y), inside.filled())?;
            marker.draw(chart, (dot.x, dot.y), style)?;
        }
        Ok(())
    }
}

impl Marker {
    fn draw<'b, X, Y>(
        self,
        chart: &mut Plane<'_, 'b, X, Y>,
        at: (f64, f64),
        style: ShapeStyle,
    ) -> Result<(), DrawError<'b>>
    where
        X: Ranged<ValueType = f64>,
        Y: Ranged<ValueType = f64>,
    {
        let corners = [(-MARKER, -MARKER), (MARKER, MARKER)];
        match self {
            Self::Circle => chart.draw_series([Circle::new(at, MARKER, style)])?,
            Self::Square => chart.draw_series([EmptyElement::at(at) + Rectangle::new(corners, style)])?,
        };
        Ok(())
    }
}

/// What plotters drew, with an opening tag that scales with the page and that screen readers understand.
fn in_page(svg: &str, id: &str, title: &str, description: &str) -> String {
    let drawn = svg.find('>').map_or("", |end| &svg[end + 1..]);
    let (width, height) = SIZE;
    format!(
        "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-labelledby=\"{id}-title {id}-desc\">\
         <title id=\"{id}-title\">{}</title><desc id=\"{id}-desc\">{}</desc>{drawn}",
        super::page::escape(title),
        super::page::escape(description),
    )
}

/// A color as plotters writes it.
pub(super) fn hex(color: RGBColor) -> String {
    format!("#{:02X}{:02X}{:02X}", color.0, color.1, color.2)
}

/// A sample of a line for a legend.
pub(super) fn sample(color: RGBColor, marker: Option<Marker>, stroke: Stroke, is_hollow: bool) -> String {
    let ink = hex(color);
    let dashes = match stroke {
        Stroke::Solid => "",
        Stroke::Dashed => " stroke-dasharray=\"7 5\"",
        Stroke::None => " stroke-opacity=\"0\"",
    };
    let inside = if is_hollow { hex(PAPER) } else { ink.clone() };
    let style = format!("fill=\"{inside}\" stroke=\"{ink}\" stroke-width=\"2\"");
    let shape = match marker {
        Some(Marker::Circle) => format!("<circle cx=\"20\" cy=\"8\" r=\"5\" {style}/>"),
        Some(Marker::Square) => format!("<rect x=\"15\" y=\"3\" width=\"10\" height=\"10\" {style}/>"),
        None => String::new(),
    };
    format!(
        "<svg class=\"sample\" viewBox=\"0 0 40 16\" aria-hidden=\"true\"><line x1=\"0\" y1=\"8\" x2=\"40\" y2=\"8\" \
         stroke=\"{ink}\" stroke-width=\"2\"{dashes}/>{shape}</svg>"
    )
}

/// Ticks at every power of ten from `10^from` to `10^to`, the first and last included.
pub(super) fn decades(from: i32, to: i32, label: impl Fn(f64) -> String) -> Vec<(f64, String)> {
    (from..=to).map(|exponent| (f64::from(exponent), label(10f64.powi(exponent)))).collect()
}

/// Five to nine ticks at round numbers from 0 to `to`.
pub(super) fn round_ticks(to: f64, label: impl Fn(f64) -> String) -> Vec<(f64, String)> {
    let longest = to.max(f64::MIN_POSITIVE) / 4.0;
    let decade = 10f64.powf(longest.log10().floor());
    let steps = [5.0, 2.5, 2.0].map(|factor| factor * decade);
    let step = steps.into_iter().find(|step| *step <= longest).unwrap_or(decade);
    (0..=8)
        .map(|count| f64::from(count) * step)
        .take_while(|at| *at <= to * 1.000_001)
        .map(|at| (at, label(at)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within_the_axis() {
        for to in (1..1000).map(|tenths| f64::from(tenths) / 10.0).chain([525e3, 1_234_567.0]) {
            let ticks = round_ticks(to, |at| at.to_string());
            assert!((5..=9).contains(&ticks.len()), "{to}: {ticks:?}");
            assert!(ticks.iter().all(|tick| (0.0..=to * 1.001).contains(&tick.0)));
        }
        let labels: Vec<String> = decades(0, 2, |us| format!("{us}")).into_iter().map(|tick| tick.1).collect();
        assert_eq!(labels, ["1", "10", "100"]);
    }

    #[test]
    fn every_color_has_four_and_a_half_to_one_against_its_paper() {
        let (light, dark) = PALETTE[0];
        for (on_light, on_dark) in PALETTE.into_iter().filter(|pair| pair.0 != PAPER && pair.0 != GRID) {
            assert!(contrast(on_light, light) >= 4.5, "{}", hex(on_light));
            assert!(contrast(on_dark, dark) >= 4.5, "{}", hex(on_dark));
        }
    }

    /// As the accessibility guidelines of the web define it (WCAG 2, relative luminance).
    fn contrast(one: RGBColor, other: RGBColor) -> f64 {
        let channel = |value: u8| match f64::from(value) / 255.0 {
            low if low <= 0.04045 => low / 12.92,
            high => ((high + 0.055) / 1.055).powf(2.4),
        };
        let luminance = |c: RGBColor| 0.2126 * channel(c.0) + 0.7152 * channel(c.1) + 0.0722 * channel(c.2) + 0.05;
        let (a, b) = (luminance(one), luminance(other));
        a.max(b) / a.min(b)
    }
}
