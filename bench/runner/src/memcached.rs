//! The picture of memcached and of Nebula under overload.

use serde_json::{Value, json};

use super::Picture;
use crate::row::Row;

pub(crate) fn picture(rows: &[Row]) -> Picture {
    Picture {
        path: "docs/images/memcached.svg",
        title: "p99 latency of memcached and of Nebula by offered load",
        spec: spec(&points(rows)),
    }
}

const SERVERS: [(&str, &str); 2] = [("memcached -t 1", "#B34A00"), ("Nebula", "#0B57B0")];
const P99: &str = "p99 of what is served";
/// The bound that Nebula is to keep, in milliseconds.
const SLO_MS: f64 = 5.0;

/// The p99 of each server in milliseconds, by the share of its peak that is offered.
fn points(rows: &[Row]) -> Vec<Value> {
    let of = |name: &'static str| {
        rows.iter().filter_map(move |row| {
            let load = row.what.strip_prefix("GETs at ")?.strip_suffix(&format!(" of the peak of {name}: {P99}"))?;
            Some(json!({"server": name, "load": load.parse::<f64>().ok()?, "p99": row.value / 1e6}))
        })
    };
    SERVERS.iter().flat_map(|(name, _)| of(name)).collect()
}

fn spec(points: &[Value]) -> Value {
    let (names, colors): (Vec<_>, Vec<_>) = SERVERS.into_iter().unzip();
    let ticks = [0.01, 0.1, 1.0, 10.0, 100.0, 1000.0];
    json!({
        "width": 560, "height": 300, "background": "#FEFEFE", "padding": 12,
        "title": {"text": "p99 of the GETs that are answered with a value", "anchor": "start"},
        "layer": [
            {
                "data": {"values": points},
                "mark": {"type": "line", "point": {"size": 60}, "strokeWidth": 3},
                "encoding": {
                    "x": {"field": "load", "type": "quantitative", "title": "offered load, as a share of what the server serves at most"},
                    "y": {"field": "p99", "type": "quantitative", "title": "p99, ms", "scale": {"type": "log", "domain": [0.01, 1000]}, "axis": {"values": ticks}},
                    "color": {"field": "server", "type": "nominal", "title": null, "scale": {"domain": names, "range": colors}, "legend": {"orient": "bottom"}},
                },
            },
            {"data": {"values": [{"slo": SLO_MS}]}, "mark": {"type": "rule", "strokeDash": [4, 4], "color": "#5A6574"}, "encoding": {"y": {"field": "slo", "type": "quantitative"}}},
            {"data": {"values": [{"slo": SLO_MS}]}, "mark": {"type": "text", "align": "left", "dx": 6, "dy": -8, "color": "#5A6574"}, "encoding": {"x": {"value": 0}, "y": {"field": "slo", "type": "quantitative"}, "text": {"value": "SLO"}}},
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_load_of_each_server_is_a_point_in_milliseconds() {
        let rows = [
            Row::plain("GETs at 0.5 of the peak of Nebula: p99 of what is served", 2e5, "ns"),
            Row::plain("GETs at 2 of the peak of Nebula: p99 of what is served", 9e5, "ns"),
            Row::plain("GETs at 2 of the peak of Nebula: refused", 0.5, "of offered"),
            Row::plain("GETs at 2 of the peak of memcached -t 1: p99 of what is served", 2e8, "ns"),
        ];
        let points = points(&rows);
        assert_eq!(points.len(), 3);
        assert_eq!(points[2], json!({"server": "Nebula", "load": 2.0, "p99": 0.9}));
        assert_eq!(spec(&points)["layer"][0]["data"]["values"].as_array().map(Vec::len), Some(3));
    }
}
