//! The picture of flight registration: a box for each tier, an arrow for each kind of call.

use super::{Calls, Load};
use nebula_ui::output::units;
use nebula_ui::report::chart::{BLUE, INK, MUTED, ORANGE, PAPER, hex};
use nebula_ui::report::markup::escape;

const SIZE: (u32, u32) = (760, 400);
const BOX: (i32, i32) = (124, 78);
/// A share of refusals that is worth another color.
const MANY: f64 = 0.01;

/// The tiers and their places.
const BOXES: [(&str, i32, i32); 9] = [
    ("clients", 4, 204),
    ("passengers", 162, 106),
    ("staff", 162, 312),
    ("check-in", 320, 106),
    ("flights", 478, 8),
    ("baggage", 478, 106),
    ("passports", 478, 204),
    ("citizens", 632, 204),
    ("airport", 632, 312),
];

/// The calls, and the corners of their arrows.
const ARROWS: [(&str, &str, &str); 9] = [
    ("clients", "passengers", "M128,228 L145,228 L145,145 L160,145"),
    ("clients", "staff", "M128,258 L145,258 L145,351 L160,351"),
    ("passengers", "check-in", "M286,145 L318,145"),
    ("check-in", "flights", "M444,132 L461,132 L461,47 L476,47"),
    ("check-in", "baggage", "M444,145 L476,145"),
    ("check-in", "passports", "M444,158 L461,158 L461,243 L476,243"),
    ("check-in", "airport", "M382,184 L382,297 L694,297 L694,310"),
    ("passports", "citizens", "M602,243 L630,243"),
    ("staff", "airport", "M286,351 L630,351"),
];

/// The picture as an `svg` element; `id` is unique in its page.
pub(super) fn to_svg(load: &Load, id: &str, title: &str) -> String {
    let (width, height) = SIZE;
    let arrows: String = ARROWS.iter().map(|&(from, to, path)| arrow(of(load, from, to), path)).collect();
    let boxes: String = BOXES.iter().map(|&(tier, x, y)| tier_box(tier, busiest(load, tier), x, y)).collect();
    format!(
        "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-labelledby=\"{id}-graph {id}-calls\">\
         <title id=\"{id}-graph\">{}</title><desc id=\"{id}-calls\">{}</desc>{arrows}{boxes}</svg>",
        escape(title),
        escape(&in_words(load)),
    )
}

fn of(load: &Load, from: &str, to: &str) -> Option<Calls> {
    load.calls.get(&(from.to_owned(), to.to_owned())).copied()
}

/// What the caller with the most calls has seen of a tier.
fn busiest(load: &Load, tier: &str) -> Option<Calls> {
    let calls = load.calls.iter().filter(|((_, to), _)| to == tier).map(|(_, calls)| *calls);
    calls.max_by_key(|calls| calls.replied + calls.refused + calls.failed)
}

/// An arrow, dashed and in another color where many were refused.
fn arrow(calls: Option<Calls>, path: &str) -> String {
    let is_refused = calls.is_some_and(|calls| calls.refused_share() > MANY);
    let (color, dashes) = if is_refused { (ORANGE, " stroke-dasharray=\"7 4\"") } else { (MUTED, "") };
    let color = hex(color);
    let corners: Vec<(i32, i32)> = path.split_whitespace().filter_map(corner).collect();
    let Some(&(x, y)) = corners.last() else { return String::new() };
    // The last piece goes right, or down.
    let is_down = corners.iter().rev().nth(1).is_some_and(|before| before.0 == x);
    let head = if is_down {
        format!("{},{} {},{} {x},{}", x - 5, y - 7, x + 5, y - 7, y + 1)
    } else {
        format!("{},{} {},{} {},{y}", x - 7, y - 5, x - 7, y + 5, x + 1)
    };
    format!(
        "<path d=\"{path}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"2\"{dashes}/><polygon points=\"{head}\" fill=\"{color}\"/>"
    )
}

fn corner(text: &str) -> Option<(i32, i32)> {
    let (x, y) = text.get(1..)?.split_once(',')?;
    Some((x.parse().ok()?, y.parse().ok()?))
}

fn tier_box(tier: &str, calls: Option<Calls>, x: i32, y: i32) -> String {
    let (width, height) = BOX;
    let (edge, ink, quiet) = (hex(BLUE), hex(INK), hex(MUTED));
    let middle = x + width / 2;
    let line = |at: i32, text: &str, color: &str, size: i32, weight: i32| {
        let text = escape(text);
        format!(
            "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\" font-size=\"{size}\" font-weight=\"{weight}\" fill=\"{color}\">{text}</text>",
            y + at
        )
    };
    let body = match calls {
        Some(calls) => {
            let refused = calls.refused_share();
            let (words, color) = match refused {
                share if share > MANY => (format!("{} refused", units::percent(share)), hex(ORANGE)),
                share if share > 0.0 => (format!("{} refused", units::percent(share)), quiet.clone()),
                _ => ("none refused".to_owned(), quiet.clone()),
            };
            line(37, &format!("p50 {}", units::span(calls.p50)), &ink, 14, 400)
                + &line(54, &format!("p99 {}", units::span(calls.p99)), &ink, 14, 400)
                + &line(71, &words, &color, 14, 400)
        }
        None => String::new(),
    };
    format!(
        "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"6\" fill=\"{}\" stroke=\"{edge}\" stroke-width=\"1.5\"/>{}{body}",
        hex(PAPER),
        line(if calls.is_some() { 19 } else { 44 }, tier, &ink, 16, 600),
    )
}

fn in_words(load: &Load) -> String {
    let call = |((from, to), calls): (&(String, String), &Calls)| {
        let (p50, p99, refused) =
            (units::span(calls.p50), units::span(calls.p99), units::percent(calls.refused_share()));
        format!("{from} to {to}: p50 {p50}, p99 {p99}, {refused} refused")
    };
    load.calls.iter().map(call).collect::<Vec<_>>().join("; ")
}
