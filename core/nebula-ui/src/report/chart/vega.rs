//! A chart as a specification of Vega-Lite.

use serde_json::{Map, Value, json};

use super::line::{Dot, Line, Sample, Stroke, block_sample};
use super::palette::{GRID, INK, MUTED, PAPER, hex};
use super::{Axis, Chart};

const HALF_BLOCK: f64 = 0.34;

impl Chart {
    /// The specification; the legend names the lines by their looks.
    pub fn to_vega(&self, legend: &[(Sample, String)]) -> Value {
        let names: Vec<String> = self.lines.iter().map(|line| name_of(line, legend)).collect();
        let values: Vec<Value> =
            self.lines.iter().zip(&names).enumerate().flat_map(|(index, line)| self.values(index, line)).collect();
        let is_blocks = self.lines.iter().any(|line| line.stroke == Stroke::Blocks);
        let marks = if is_blocks { self.blocks(&names) } else { self.marks(&names) };
        let layers: Vec<Value> = marks.into_iter().chain(self.bound_layers()).collect();
        json!({
            "description": self.description,
            "width": "container",
            "height": 320,
            "autosize": {"type": "fit-x", "contains": "padding"},
            "background": null,
            "data": {"values": values},
            "layer": layers,
            "config": {
                "font": "system-ui, sans-serif",
                "view": {"stroke": null},
                "axis": {"labelFontSize": 12, "titleFontSize": 12, "labelColor": hex(INK), "titleColor": hex(INK), "titleFontWeight": "normal", "gridColor": hex(GRID), "domainColor": hex(MUTED), "tickColor": hex(MUTED)},
                "legend": {"labelFontSize": 12, "labelColor": hex(INK), "labelLimit": 320},
            },
        })
    }

    fn values(&self, index: usize, (line, name): (&Line, &String)) -> Vec<Value> {
        let is_real = |dot: &&Dot| dot.x.is_finite() && dot.y.is_finite();
        line.dots.iter().filter(is_real).map(|dot| self.value(index, name, line, dot)).collect()
    }

    fn value(&self, index: usize, name: &str, line: &Line, dot: &Dot) -> Value {
        let mut value = Map::new();
        value.insert("line".into(), index.into());
        value.insert("name".into(), name.into());
        value.insert("x".into(), dot.x.into());
        value.insert("y".into(), dot.y.into());
        value.insert("hollow".into(), dot.is_hollow.into());
        let ends = |axis: &Axis, (lo, hi): (f64, f64)| format!(" ({} to {})", axis.show(lo), axis.show(hi));
        let mut said = [self.x.show(dot.x), self.y.show(dot.y)];
        if let Some((lo, hi)) = dot.x_ends {
            value.insert("x0".into(), self.x.clip(lo).into());
            value.insert("x1".into(), self.x.clip(hi).into());
            said[0] = match line.stroke {
                Stroke::Blocks => self.x.show(hi - lo),
                _ => format!("{}{}", said[0], ends(&self.x, (lo, hi))),
            };
        }
        if let Some((lo, hi)) = dot.y_ends {
            value.insert("y0".into(), self.y.clip(lo).into());
            value.insert("y1".into(), self.y.clip(hi).into());
            said[1].push_str(&ends(&self.y, (lo, hi)));
        }
        let [x, y] = said;
        value.insert("at".into(), x.into());
        value.insert("is".into(), y.into());
        value.insert("label".into(), dot.label.into());
        value.into()
    }

    fn tooltip(&self) -> Value {
        json!([
            {"field": "name", "title": "line"},
            {"field": "at", "title": self.x.label},
            {"field": "is", "title": self.y.label},
        ])
    }

    fn marks(&self, names: &[String]) -> Vec<Value> {
        let (x, y) = (position(&self.x, "x"), position(&self.y, "y"));
        let (color, opacity) = (self.color(names), faded());
        let dashed: Vec<usize> =
            (0..self.lines.len()).filter(|&index| self.lines[index].stroke == Stroke::Dashed).collect();
        let drawn: Vec<usize> =
            (0..self.lines.len()).filter(|&index| self.lines[index].stroke != Stroke::None).collect();
        let marked: Vec<usize> = (0..self.lines.len()).filter(|&index| self.lines[index].marker.is_some()).collect();
        let line = |of: &[usize], dash: &[u32]| {
            json!({
                "transform": [{"filter": {"field": "line", "oneOf": of}}],
                "mark": {"type": "line", "clip": true, "strokeWidth": 2, "strokeDash": dash},
                "encoding": {"x": x, "y": y, "color": color, "detail": {"field": "line"}, "opacity": opacity, "tooltip": self.tooltip()},
            })
        };
        let solid: Vec<usize> = drawn.iter().copied().filter(|index| !dashed.contains(index)).collect();
        let interval = |(from, to): (&str, &str), fixed: (&str, &Value), along: (&str, &Value)| {
            let mut encoding = Map::new();
            encoding.insert(fixed.0.into(), fixed.1.clone());
            let mut start = along.1.clone();
            start["field"] = from.into();
            encoding.insert(along.0.into(), start);
            encoding.insert(format!("{}2", along.0), json!({"field": to}));
            encoding.insert("color".into(), color.clone());
            encoding.insert("opacity".into(), opacity.clone());
            json!({
                "transform": [{"filter": format!("isValid(datum.{from})")}],
                "mark": {"type": "rule", "clip": true, "strokeWidth": 1.5},
                "encoding": encoding,
            })
        };
        let hollow = json!({"condition": {"test": "datum.hollow", "value": hex(PAPER)}, "field": "name", "type": "nominal", "scale": color["scale"], "legend": null});
        let points = json!({
            "params": [
                {"name": "zoom", "select": "interval", "bind": "scales"},
                {"name": "only", "select": {"type": "point", "fields": ["name"]}, "bind": "legend"},
            ],
            "transform": [{"filter": {"field": "line", "oneOf": marked}}],
            "mark": {"type": "point", "clip": true, "size": 70, "filled": false, "strokeWidth": 2},
            "encoding": {"x": x, "y": y, "color": color, "fill": hollow, "opacity": opacity, "shape": self.shape(names), "tooltip": self.tooltip()},
        });
        vec![
            line(&solid, &[]),
            line(&dashed, &[6, 4]),
            interval(("y0", "y1"), ("x", &x), ("y", &y)),
            interval(("x0", "x1"), ("y", &y), ("x", &x)),
            points,
        ]
    }

    fn blocks(&self, names: &[String]) -> Vec<Value> {
        let (x, y) = (position(&self.x, "x0"), position(&self.y, "low"));
        let heights = json!([
            {"calculate": format!("datum.y - {HALF_BLOCK}"), "as": "low"},
            {"calculate": format!("datum.y + {HALF_BLOCK}"), "as": "high"},
            {"calculate": "(datum.x0 + datum.x1) / 2", "as": "middle"},
        ]);
        let (middle, center) = (position(&self.x, "middle"), position(&self.y, "y"));
        let (mut fill, mut rim) = (self.color(names), self.color(names));
        fill["condition"] = json!({"test": "datum.hollow", "value": hex(PAPER)});
        rim["condition"] = json!({"test": "!datum.hollow", "value": hex(PAPER)});
        rim["legend"] = Value::Null;
        vec![
            json!({
                "params": [{"name": "only", "select": {"type": "point", "fields": ["name"]}, "bind": "legend"}],
                "transform": heights,
                "mark": {"type": "rect", "clip": true, "strokeWidth": 1},
                "encoding": {"x": x, "x2": {"field": "x1"}, "y": y, "y2": {"field": "high"}, "fill": fill, "stroke": rim, "opacity": faded(), "tooltip": self.tooltip()},
            }),
            json!({
                "transform": [{"calculate": "(datum.x0 + datum.x1) / 2", "as": "middle"}, {"filter": format!("datum.x1 - datum.x0 > {}", (self.x.to - self.x.from) / 40.0)}],
                "mark": {"type": "text", "clip": true, "fontSize": 11},
                "encoding": {"x": middle, "y": center, "text": {"field": "label"}, "color": {"condition": {"test": "datum.hollow", "value": hex(INK)}, "value": hex(PAPER)}},
            }),
        ]
    }

    fn color(&self, names: &[String]) -> Value {
        let colors: Vec<String> = self.lines.iter().map(|line| hex(line.color)).collect();
        let (domain, range) = distinct(names, &colors);
        let legend = json!({"orient": "bottom", "columns": 2, "title": null, "symbolOpacity": 1});
        json!({"field": "name", "type": "nominal", "scale": {"domain": domain, "range": range}, "legend": legend})
    }

    fn shape(&self, names: &[String]) -> Value {
        use super::Marker::{Circle, Diamond, Square, Triangle};
        let shape = |line: &Line| match line.marker {
            Some(Square) => "square",
            Some(Triangle) => "triangle-up",
            Some(Diamond) => "diamond",
            Some(Circle) => "circle",
            None => "stroke",
        };
        let shapes: Vec<String> = self.lines.iter().map(|line| shape(line).to_owned()).collect();
        let (domain, range) = distinct(names, &shapes);
        json!({"field": "name", "type": "nominal", "scale": {"domain": domain, "range": range}})
    }

    fn bound_layers(&self) -> Vec<Value> {
        let Some(bound) = &self.bound else { return Vec::new() };
        let y = position(&self.y, "bound");
        let data = json!({"values": [{"bound": bound.y, "label": bound.label}]});
        vec![
            json!({"data": data, "mark": {"type": "rule", "clip": true, "strokeDash": [3, 3], "color": hex(INK)}, "encoding": {"y": y}}),
            json!({
                "data": data,
                "mark": {"type": "text", "clip": true, "align": "left", "baseline": "bottom", "dx": 4, "dy": -3, "fontSize": 12, "color": hex(INK)},
                "encoding": {"y": y, "x": {"value": 0}, "text": {"field": "label"}},
            }),
        ]
    }
}

/// The place along an axis, whose ticks have labels of its unit. The browser writes a negative
/// position with a minus sign, not a hyphen.
fn position(axis: &Axis, field: &str) -> Value {
    let key = |at: f64| format!("{at:.6}").replace("-0.000000", "0.000000").replace('-', "\u{2212}");
    let labels: Map<String, Value> = axis.ticks.iter().map(|(at, label)| (key(*at), label.as_str().into())).collect();
    let ticks: Vec<f64> = axis.ticks.iter().map(|tick| tick.0).collect();
    json!({
        "field": field,
        "type": "quantitative",
        "title": axis.label,
        "scale": {"domain": [axis.from, axis.to], "nice": false, "zero": false},
        "axis": {"values": ticks, "labelExpr": format!("({})[format(datum.value, '.6f')]", Value::from(labels)), "labelOverlap": true},
    })
}

/// Lines that were not clicked in the legend fade.
fn faded() -> Value {
    json!({"condition": {"param": "only", "value": 1}, "value": 0.15})
}

/// Each name once, with the value of its first line.
fn distinct(names: &[String], values: &[String]) -> (Vec<String>, Vec<String>) {
    let first = |index: &usize| !names[..*index].contains(&names[*index]);
    (0..names.len()).filter(first).map(|index| (names[index].clone(), values[index].clone())).unzip()
}

/// The legend's text for a line: for its look, or for its color if the look of its published values
/// is not in the legend.
fn name_of(line: &Line, legend: &[(Sample, String)]) -> String {
    let look = line.sample();
    let plain = Sample { is_hollow: false, ..look };
    let looks = [plain, look, block_sample(line.color, look.is_hollow)];
    let of_look = legend.iter().find(|(sample, _)| looks.contains(sample)).map(|(_, text)| text.clone());
    let of_color = || legend.iter().find(|(sample, _)| sample.color == line.color);
    of_look.or_else(|| of_color().map(|(_, text)| format!("{text}, published"))).unwrap_or_default()
}

impl Chart {
    /// The legend's texts for marks that no line of the chart has as its own, such as hollow ones.
    pub fn remarks(&self, legend: &[(Sample, String)]) -> String {
        let is_of = |line: &Line, sample: &Sample| {
            let look = line.sample();
            sample.color == look.color && (sample.stroke == look.stroke || sample.is_hollow == look.is_hollow)
        };
        let is_apart = |(sample, _): &&(Sample, String)| !self.lines.iter().any(|line| is_of(line, sample));
        let words = |(sample, text): &(Sample, String)| {
            format!(" {}: {text}.", if sample.is_hollow { "Hollow" } else { "Filled" })
        };
        legend.iter().filter(is_apart).map(words).collect()
    }
}
