//! The marks of a chart: lines, points, intervals, and marker shapes.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::axis::Axis;
use super::palette::{INK, PAPER, hex};

pub(super) type DrawError<'a> = DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>;

/// Half the width of a marker.
const MARKER: i32 = 5;
/// Half the width of the bar at the end of an interval.
const CAP: i32 = 5;

/// Half the height of a block; rows are one apart.
const HALF_BLOCK: f64 = 0.34;
/// The font size of the text on a block, and the greatest width of a character.
const FONT_SIZE: i32 = 17;
const CHAR_WIDTH: i32 = 10;

/// The marker shape, which identifies a line without color.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marker {
    Circle,
    Square,
    Triangle,
    Diamond,
}

/// The style of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stroke {
    Solid,
    Dashed,
    /// Markers only; hollow ones are published values.
    None,
    /// A horizontal block over the interval of each dot: a piece of a stacked bar.
    Blocks,
}

/// A point of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Dot {
    pub(crate) x: f64,
    pub(crate) y: f64,
    /// Hollow: a published value, or one that misses its SLO for another reason.
    pub(crate) is_hollow: bool,
    /// Its interval along the horizontal axis.
    pub(crate) x_ends: Option<(f64, f64)>,
    /// Its interval along the vertical axis.
    pub(crate) y_ends: Option<(f64, f64)>,
    /// The text on its block, shown if there is room.
    pub(crate) label: &'static str,
}

impl Dot {
    pub(crate) const fn at(x: f64, y: f64) -> Self {
        Self { x, y, is_hollow: false, x_ends: None, y_ends: None, label: "" }
    }

    #[must_use]
    pub(crate) const fn hollow(mut self, is_hollow: bool) -> Self {
        self.is_hollow = is_hollow;
        self
    }

    /// Adds a vertical interval from `lo` to `hi`; none where its upper end is not known.
    #[must_use]
    pub(crate) fn between(mut self, lo: f64, hi: f64) -> Self {
        self.y_ends = hi.is_finite().then_some((lo, hi));
        self
    }

    /// Labels its block.
    #[must_use]
    pub(crate) const fn labeled(mut self, label: &'static str) -> Self {
        self.label = label;
        self
    }

    /// Adds a horizontal interval from `lo` to `hi`.
    #[must_use]
    pub(crate) const fn level_between(mut self, lo: f64, hi: f64) -> Self {
        self.x_ends = Some((lo, hi));
        self
    }
}

/// A line with markers; without markers for a curve of very many points.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) color: RGBColor,
    pub(crate) marker: Option<Marker>,
    pub(crate) stroke: Stroke,
    pub(crate) dots: Vec<Dot>,
}

pub(super) type Plane<'a, 'b, X, Y> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<X, Y>>;

impl Line {
    pub(super) fn draw<'b, X, Y>(
        &self,
        chart: &mut Plane<'_, 'b, X, Y>,
        (x, y): (&Axis, &Axis),
    ) -> Result<(), DrawError<'b>>
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
            Stroke::Blocks => return self.draw_blocks(chart),
        };
        let Some(marker) = self.marker else { return Ok(()) };
        for dot in &self.dots {
            let inside = if dot.is_hollow { PAPER } else { self.color };
            marker.draw(chart, (dot.x, dot.y), inside.filled())?;
            marker.draw(chart, (dot.x, dot.y), style)?;
            self.draw_ends(chart, dot, (x, y))?;
        }
        Ok(())
    }

    /// A rectangle for each dot, with a rim that separates it from the next.
    fn draw_blocks<'b, X, Y>(&self, chart: &mut Plane<'_, 'b, X, Y>) -> Result<(), DrawError<'b>>
    where
        X: Ranged<ValueType = f64>,
        Y: Ranged<ValueType = f64>,
    {
        for dot in &self.dots {
            let (from, to) = dot.x_ends.unwrap_or((dot.x, dot.x));
            let corners = [(from, dot.y - HALF_BLOCK), (to, dot.y + HALF_BLOCK)];
            let (inside, rim) = if dot.is_hollow { (PAPER, self.color) } else { (self.color, PAPER) };
            chart.draw_series([Rectangle::new(corners, inside.filled())])?;
            chart.draw_series([Rectangle::new(corners, rim.stroke_width(1))])?;
            let wide = chart.backend_coord(&corners[1]).0 - chart.backend_coord(&corners[0]).0;
            if wide >= CHAR_WIDTH * i32::try_from(dot.label.len()).unwrap_or(0) + CHAR_WIDTH / 2 {
                let middle = Pos::new(HPos::Center, VPos::Center);
                let style = ("sans-serif", FONT_SIZE).into_font().color(&INK).pos(middle);
                chart.draw_series([Text::new(dot.label, ((from + to) / 2.0, dot.y), style)])?;
            }
        }
        Ok(())
    }

    /// The bars of a dot's intervals, clipped to the axes.
    fn draw_ends<'b, X, Y>(
        &self,
        chart: &mut Plane<'_, 'b, X, Y>,
        dot: &Dot,
        (x, y): (&Axis, &Axis),
    ) -> Result<(), DrawError<'b>>
    where
        X: Ranged<ValueType = f64>,
        Y: Ranged<ValueType = f64>,
    {
        let upright = dot.y_ends.map(|(lo, hi)| [(dot.x, y.clip(lo)), (dot.x, y.clip(hi))]);
        let level = dot.x_ends.map(|(lo, hi)| [(x.clip(lo), dot.y), (x.clip(hi), dot.y)]);
        for (ends, cap) in [(upright, (CAP, 0)), (level, (0, CAP))] {
            let Some(ends) = ends else { continue };
            chart.draw_series([PathElement::new(ends, self.color.stroke_width(1))])?;
            let bar = [(-cap.0, -cap.1), cap];
            let bars = ends.map(|at| EmptyElement::at(at) + PathElement::new(bar, self.color.stroke_width(1)));
            chart.draw_series(bars)?;
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
        if self == Self::Circle {
            chart.draw_series([Circle::new(at, MARKER, style)])?;
            return Ok(());
        }
        let corners = self.corners();
        match style.filled {
            true => chart.draw_series([EmptyElement::at(at) + Polygon::new(corners, style)])?,
            false => {
                let closed: Vec<_> = corners.iter().chain(&corners[..2.min(corners.len())]).copied().collect();
                chart.draw_series([EmptyElement::at(at) + PathElement::new(closed, style)])?
            }
        };
        Ok(())
    }

    /// Relative to the center of the marker; empty for a circle.
    fn corners(self) -> Vec<(i32, i32)> {
        const WIDE: i32 = MARKER + 1;
        match self {
            Self::Circle => Vec::new(),
            Self::Square => vec![(-MARKER, -MARKER), (MARKER, -MARKER), (MARKER, MARKER), (-MARKER, MARKER)],
            Self::Triangle => vec![(0, -WIDE), (WIDE, MARKER), (-WIDE, MARKER)],
            Self::Diamond => vec![(0, -WIDE - 1), (WIDE + 1, 0), (0, WIDE + 1), (-WIDE - 1, 0)],
        }
    }
}

/// The drawing area of a chart.
pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// A sample of a line, for a legend.
pub(crate) fn sample(color: RGBColor, marker: Option<Marker>, stroke: Stroke, is_hollow: bool) -> String {
    let ink = hex(color);
    let dashes = match stroke {
        Stroke::Solid => "",
        Stroke::Dashed => " stroke-dasharray=\"7 5\"",
        Stroke::None | Stroke::Blocks => " stroke-opacity=\"0\"",
    };
    let inside = if is_hollow { hex(PAPER) } else { ink.clone() };
    let style = format!("fill=\"{inside}\" stroke=\"{ink}\" stroke-width=\"2\"");
    let shape = match marker {
        Some(Marker::Circle) => format!("<circle cx=\"20\" cy=\"8\" r=\"5\" {style}/>"),
        Some(marker) => {
            let corner = |&(x, y): &(i32, i32)| format!("{},{}", 20 + x, 8 + y);
            let corners = marker.corners().iter().map(corner).collect::<Vec<_>>().join(" ");
            format!("<polygon points=\"{corners}\" {style}/>")
        }
        None => String::new(),
    };
    format!(
        "<svg class=\"sample\" viewBox=\"0 0 40 16\" aria-hidden=\"true\"><line x1=\"0\" y1=\"8\" x2=\"40\" y2=\"8\" \
         stroke=\"{ink}\" stroke-width=\"2\"{dashes}/>{shape}</svg>"
    )
}

/// A sample of a block, for a legend.
pub(crate) fn block_sample(color: RGBColor, is_hollow: bool) -> String {
    let ink = hex(color);
    let inside = if is_hollow { hex(PAPER) } else { ink.clone() };
    format!(
        "<svg class=\"sample\" viewBox=\"0 0 40 16\" aria-hidden=\"true\">\
         <rect x=\"8\" y=\"1\" width=\"24\" height=\"14\" fill=\"{inside}\" stroke=\"{ink}\" stroke-width=\"2\"/></svg>"
    )
}
