//! How much of a ring fits into a window.

use crate::scene::View;

/// Width in CSS pixels below which the page is laid out for a phone.
pub const NARROW: f64 = 600.0;
/// Height of the window that the laptop's numbers are for, and of a cache line of descriptors.
const LAPTOP_HEIGHT: f64 = 720.0;
const LINE_HEIGHT: f64 = 72.0;

/// What fits into a window of this size, in CSS pixels.
pub fn room(width: f64, height: f64) -> View {
    if width < NARROW {
        return View { columns: 16, lines: 3, table_lines: 9, bars: 128, selected: None };
    }
    let more = ((height - LAPTOP_HEIGHT) / LINE_HEIGHT).floor().clamp(-2.0, 12.0) as i16;
    let lines = (4 + more).max(2) as u16;
    View { columns: 16, lines, table_lines: lines * 4, bars: 256, selected: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_room_shows_more() {
        assert_eq!(room(1280.0, 720.0).lines, View::LAPTOP.lines);
        assert!(room(1920.0, 1080.0).lines > room(1280.0, 720.0).lines);
        assert!(room(1280.0, 300.0).lines >= 2);
        assert!(room(390.0, 844.0).lines < room(1280.0, 720.0).lines);
    }
}
