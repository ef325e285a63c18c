//! The stations of one RPC, in the order of its path, and the way back.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::{BLUE, Drawn, GREEN, INK, MUTED, ORANGE, PURPLE, Surface, sheet, text};
use nebula_shell::Failure;

/// A module: its name, its question, the left upper corner, the color of its border.
struct Station(&'static str, &'static str, (i32, i32), RGBColor);

const BOX: (i32, i32) = (128, 54);
const SIZE: (u32, u32) = (900, 330);
/// The rows of stations: the path of an RPC, the choice of a core, the way back.
const PATH: i32 = 60;
const CHOICE: i32 = 150;
const BACK: i32 = 240;

const STATIONS: [Station; 10] = [
    Station("reassembler", "which RPC is it of?", (90, PATH), BLUE),
    Station("admission", "is there a place?", (248, PATH), BLUE),
    Station("recv_buffer", "where does it go?", (406, PATH), BLUE),
    Station("arrival_queue", "who waits?", (564, PATH), BLUE),
    Station("frontend", "queue and prefetch", (722, PATH), GREEN),
    Station("nack", "refused before?", (90, CHOICE), PURPLE),
    Station("rss", "which core: a hash", (406, CHOICE), ORANGE),
    Station("round_robin", "which core: a turn", (564, CHOICE), ORANGE),
    Station("jbsq", "which core: a credit", (722, CHOICE), ORANGE),
    Station("altocumulus_manager", "which RPCs move to another group?", (564, BACK), MUTED),
];

/// Corner by corner, and the words at the last stretch.
const ARROWS: [(&[(i32, i32)], &str); 8] = [
    (&[(20, 87), (90, 87)], "packets"),
    (&[(218, 87), (248, 87)], ""),
    (&[(376, 87), (406, 87)], ""),
    (&[(534, 87), (564, 87)], ""),
    (&[(692, 87), (722, 87)], ""),
    (&[(154, 150), (154, 114)], ""),
    (&[(786, 150), (786, 114)], ""),
    (&[(312, 114), (312, 267), (20, 267)], "NACKs: no place, or no room"),
];

const NOTES: [(&str, (i32, i32)); 2] =
    [("one packet, or one free, each cycle", (20, 20)), ("the policy says which one of these chooses", (406, 134))];

pub(in super::super) fn draw() -> Result<String, Failure> {
    sheet("Stations of the NIC", SIZE, |surface| {
        NOTES.iter().try_for_each(|(words, at)| text(surface, words, *at, 14, INK, HPos::Left))?;
        ARROWS.iter().try_for_each(|(corners, words)| arrow(surface, corners, words))?;
        STATIONS.iter().try_for_each(|station| boxed(surface, station))
    })
}

fn boxed<'a>(surface: &Surface<'a>, Station(name, what, (x, y), color): &Station) -> Drawn<'a> {
    let width = if name.len() > 14 { 2 * BOX.0 } else { BOX.0 };
    let corners = [(*x, *y), (x + width, y + BOX.1)];
    surface.draw(&Rectangle::new(corners, super::PAPER.filled()))?;
    surface.draw(&Rectangle::new(corners, color.stroke_width(2)))?;
    let center = x + width / 2;
    text(surface, name, (center, y + 18), 15, INK, HPos::Center)?;
    text(surface, what, (center, y + 38), 13, MUTED, HPos::Center)
}

fn arrow<'a>(surface: &Surface<'a>, corners: &[(i32, i32)], words: &str) -> Drawn<'a> {
    surface.draw(&PathElement::new(corners.to_vec(), INK.stroke_width(2)))?;
    if let [.., (from_x, from_y), tip @ (x, y)] = *corners {
        let (dx, dy) = ((x - from_x).signum(), (y - from_y).signum());
        let back = (x - 9 * dx, y - 9 * dy);
        let wings = [(back.0 + 4 * dy, back.1 + 4 * dx), (back.0 - 4 * dy, back.1 - 4 * dx)];
        surface.draw(&Polygon::new(vec![tip, wings[0], wings[1]], INK.filled()))?;
        text(surface, words, (from_x.min(x), y - 12), 13, MUTED, HPos::Left)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_station_is_in_the_picture() {
        let svg = draw().expect("it is drawn");
        assert!(STATIONS.iter().all(|Station(name, ..)| svg.contains(name)), "{svg}");
    }

    #[test]
    fn no_two_stations_overlap() {
        for (index, Station(one, _, (x, y), _)) in STATIONS.iter().enumerate() {
            for Station(other, _, (other_x, other_y), _) in &STATIONS[index + 1..] {
                let is_apart = (x - other_x).abs() >= BOX.0 || (y - other_y).abs() >= BOX.1;
                assert!(is_apart, "{one} and {other}");
            }
        }
    }
}
