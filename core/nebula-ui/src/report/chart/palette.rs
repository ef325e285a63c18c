//! Colors and shapes that are distinguishable in light mode, in dark mode and without color.

use super::marker::Marker;

/// Red, green and blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Color(pub u8, pub u8, pub u8);

/// The colors for light and dark mode, with a contrast of at least 4.5 to 1 against the background;
/// grid lines are fainter on purpose.
pub const PALETTE: [(&str, Color, Color); 11] = [
    ("paper", PAPER, Color(0x12, 0x16, 0x1C)),
    ("ink", INK, Color(0xE6, 0xEA, 0xF0)),
    ("grid", GRID, Color(0x33, 0x3B, 0x46)),
    ("muted", MUTED, Color(0xA3, 0xAE, 0xBC)),
    ("blue", BLUE, Color(0x6C, 0xB4, 0xFF)),
    ("orange", ORANGE, Color(0xFF, 0xA0, 0x57)),
    ("green", GREEN, Color(0x5F, 0xC9, 0x7B)),
    ("purple", PURPLE, Color(0xCF, 0x9B, 0xF0)),
    ("red", RED, Color(0xFF, 0x83, 0x93)),
    ("teal", TEAL, Color(0x45, 0xC8, 0xCE)),
    ("olive", OLIVE, Color(0xD6, 0xBA, 0x4C)),
];
/// The background.
pub const PAPER: Color = Color(0xFE, 0xFE, 0xFE);
/// Text and axes.
pub const INK: Color = Color(0x1B, 0x20, 0x28);
pub(super) const GRID: Color = Color(0xDD, 0xE2, 0xE8);
/// Secondary text.
pub const MUTED: Color = Color(0x5A, 0x65, 0x74);
/// The first of two colors.
pub const BLUE: Color = Color(0x0B, 0x57, 0xB0);
/// The second of two colors.
pub const ORANGE: Color = Color(0xB3, 0x4A, 0x00);
const GREEN: Color = Color(0x1A, 0x6E, 0x2E);
const PURPLE: Color = Color(0x7A, 0x2F, 0x9E);
const RED: Color = Color(0xA8, 0x12, 0x3A);
const TEAL: Color = Color(0x00, 0x6E, 0x78);
const OLIVE: Color = Color(0x74, 0x5E, 0x00);

/// The colors of lines and blocks, in turn. Their number is coprime to that of the markers, so
/// every combination occurs.
const COLORS: [Color; 7] = [BLUE, ORANGE, GREEN, PURPLE, RED, TEAL, OLIVE];

/// The color and marker of the n-th design, in every chart of a page; they repeat after 28.
pub fn look(index: usize) -> (Color, Marker) {
    const MARKERS: [Marker; 4] = [Marker::Circle, Marker::Square, Marker::Triangle, Marker::Diamond];
    (COLORS[index % COLORS.len()], MARKERS[index % MARKERS.len()])
}

/// The color of a piece of a stacked bar, and whether it is hollow; they repeat after 14.
pub fn block_look(index: usize) -> (Color, bool) {
    (COLORS[index % COLORS.len()], index / COLORS.len() % 2 == 1)
}

/// A color as style sheets write it.
pub fn hex(color: Color) -> String {
    format!("#{:02X}{:02X}{:02X}", color.0, color.1, color.2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_color_has_four_and_a_half_to_one_against_its_paper() {
        let (_, light, dark) = PALETTE[0];
        for (name, on_light, on_dark) in PALETTE.into_iter().filter(|color| color.1 != PAPER && color.1 != GRID) {
            assert!(contrast(on_light, light) >= 4.5, "{name} on light: {}", contrast(on_light, light));
            assert!(contrast(on_dark, dark) >= 4.5, "{name} on dark: {}", contrast(on_dark, dark));
        }
    }

    #[test]
    fn twenty_eight_designs_look_different_and_fourteen_blocks() {
        let looks: Vec<_> = (0..28).map(look).collect();
        assert!((0..28).all(|one| (0..one).all(|other| looks[one] != looks[other])));
        let looks: Vec<_> = (0..14).map(block_look).collect();
        assert!((0..14).all(|one| (0..one).all(|other| looks[one] != looks[other])));
    }

    /// As the accessibility guidelines of the web define it (WCAG 2, relative luminance).
    fn contrast(one: Color, other: Color) -> f64 {
        let channel = |value: u8| match f64::from(value) / 255.0 {
            low if low <= 0.04045 => low / 12.92,
            high => ((high + 0.055) / 1.055).powf(2.4),
        };
        let luminance = |c: Color| 0.2126 * channel(c.0) + 0.7152 * channel(c.1) + 0.0722 * channel(c.2) + 0.05;
        let (a, b) = (luminance(one), luminance(other));
        a.max(b) / a.min(b)
    }
}
