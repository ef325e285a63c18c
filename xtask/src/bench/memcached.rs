//! memcached's protocol: the key-value service beside memcached itself, and the picture of both
//! under overload.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::picture::{BLUE, Drawn, GRID, INK, MUTED, ORANGE, Surface, sheet, text};
use super::{Picture, Row, Section, program};
use crate::shell::{Attempt, Failure, Shell, run, stdout_of};

/// The section `memcached` of the program `nebula-bench`, which starts the program `nebula` and
/// memcached.
pub(super) struct Memcached;

impl Section for Memcached {
    fn name(&self) -> &'static str {
        "memcached"
    }

    fn what(&self) -> &'static str {
        "GETs by memcached's text protocol over TCP, one server core, beside memcached in the same run; both under overload"
    }

    fn run(&self, shell: &Shell) -> Result<Vec<Row>, Failure> {
        run(&mut shell.cargo(&["build", "--profile", "dist", "-p", "nebula-cli"]))?;
        let nebula = shell.target().join("dist/nebula");
        let rows = stdout_of(program::run(shell, "").arg("memcached").arg(nebula))?;
        serde_json::Deserializer::from_str(&rows)
            .into_iter()
            .collect::<Result<_, _>>()
            .attempt("read the rows of `memcached`")
    }

    fn picture(&self, rows: &[Row]) -> Result<Option<Picture>, Failure> {
        Ok(Some(Picture { path: "docs/images/memcached.svg", svg: draw(&curves(rows))? }))
    }
}

/// A server's name, its color, and its p99 in nanoseconds at shares of its peak.
struct Curve {
    name: &'static str,
    color: RGBColor,
    points: Vec<(f64, f64)>,
}

const SERVERS: [(&str, RGBColor); 2] = [("memcached -t 1", ORANGE), ("Nebula", BLUE)];
const P99: &str = "p99 of what is served";
/// The bound that Nebula is to keep, in nanoseconds.
const SLO_NS: f64 = 5e6;

const SIZE: (u32, u32) = (760, 380);
/// The corners of the chart in the picture.
const FROM: (i32, i32) = (90, 50);
const TO: (i32, i32) = (620, 325);
/// The axes: shares of the peak, and powers of ten of nanoseconds.
const SHARES: [f64; 6] = [0.0, 0.5, 1.0, 1.5, 2.0, 2.1];
const DECADES: [(i32, &str); 6] = [(4, "10 µs"), (5, "100 µs"), (6, "1 ms"), (7, "10 ms"), (8, "100 ms"), (9, "1 s")];

/// The curves that the rows have.
fn curves(rows: &[Row]) -> Vec<Curve> {
    let points = |name: &str| {
        let of_name = rows.iter().filter_map(|row| {
            let load = row.what.strip_prefix("GETs at ")?.strip_suffix(&format!(" of the peak of {name}: {P99}"))?;
            Some((load.parse().ok()?, row.value))
        });
        of_name.collect()
    };
    SERVERS.into_iter().map(|(name, color)| Curve { name, color, points: points(name) }).collect()
}

fn draw(curves: &[Curve]) -> Result<String, Failure> {
    sheet("p99 latency of memcached and of Nebula by offered load", SIZE, |surface| {
        text(surface, "p99 of the GETs that are answered with a value", (FROM.0, 20), 16, INK, HPos::Left)?;
        axes(surface)?;
        let slo = [(0.0, SLO_NS), (SHARES[5], SLO_NS)].map(place);
        surface.draw(&PathElement::new(slo.to_vec(), MUTED.stroke_width(2)))?;
        // At the other end than the names of the curves, one of which may end there.
        text(surface, "SLO", (FROM.0 + 8, slo[0].1 - 9), 13, MUTED, HPos::Left)?;
        curves.iter().try_for_each(|curve| line(surface, curve))
    })
}

fn axes<'a>(surface: &Surface<'a>) -> Drawn<'a> {
    for (decade, name) in DECADES {
        let (_, y) = place((0.0, 10f64.powi(decade)));
        surface.draw(&PathElement::new(vec![(FROM.0, y), (TO.0, y)], GRID))?;
        text(surface, name, (FROM.0 - 8, y), 13, MUTED, HPos::Right)?;
    }
    for share in &SHARES[..5] {
        let (x, _) = place((*share, 1.0));
        surface.draw(&PathElement::new(vec![(x, FROM.1), (x, TO.1)], GRID))?;
        text(surface, &format!("{share}"), (x, TO.1 + 16), 13, MUTED, HPos::Center)?;
    }
    let center = (FROM.0 + TO.0) / 2;
    text(
        surface,
        "offered load, as a share of what the server serves at most",
        (center, TO.1 + 38),
        14,
        INK,
        HPos::Center,
    )
}

fn line<'a>(surface: &Surface<'a>, Curve { name, color, points }: &Curve) -> Drawn<'a> {
    let places: Vec<_> = points.iter().copied().map(place).collect();
    surface.draw(&PathElement::new(places.clone(), color.stroke_width(3)))?;
    places.iter().try_for_each(|at| surface.draw(&Circle::new(*at, 4, color.filled())))?;
    match places.last() {
        Some((x, y)) => text(surface, name, (x + 30, *y), 14, *color, HPos::Left),
        None => Ok(()),
    }
}

/// Where a share of the peak and a time in nanoseconds are.
#[expect(clippy::cast_possible_truncation, reason = "a place in a picture of some hundred pixels")]
fn place((share, ns): (f64, f64)) -> (i32, i32) {
    let (low, high) = (f64::from(DECADES[0].0), f64::from(DECADES[5].0));
    let up = ((ns.max(1.0).log10() - low) / (high - low)).clamp(0.0, 1.0);
    let x = f64::from(FROM.0) + share / SHARES[5] * f64::from(TO.0 - FROM.0);
    (x.round() as i32, (f64::from(TO.1) - up * f64::from(TO.1 - FROM.1)).round() as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(what: &str, value: f64) -> Row {
        Row { what: what.to_owned(), value, unit: "ns".to_owned(), against: None }
    }

    #[test]
    fn each_server_has_its_curve_and_each_load_a_mark() {
        let rows = [
            row("GETs at 0.5 of the peak of Nebula: p99 of what is served", 2e5),
            row("GETs at 2 of the peak of Nebula: p99 of what is served", 9e5),
            row("GETs at 2 of the peak of Nebula: refused", 0.5),
            row("GETs at 2 of the peak of memcached -t 1: p99 of what is served", 2e8),
        ];
        let curves = curves(&rows);
        assert_eq!((curves[0].points.len(), &curves[1].points[..]), (1, &[(0.5, 2e5), (2.0, 9e5)][..]));
        let svg = draw(&curves).expect("it is drawn");
        assert_eq!(svg.matches("<circle").count(), 3);
        assert!(svg.contains("memcached -t 1") && svg.contains("SLO"), "{svg}");
    }

    #[test]
    fn longer_is_higher_and_more_is_further_right() {
        assert_eq!((place((0.0, 1e4)), place((SHARES[5], 1e9))), ((FROM.0, TO.1), (TO.0, FROM.1)));
        assert!(place((1.0, 1e6)).1 > place((1.0, 1e7)).1);
    }
}
