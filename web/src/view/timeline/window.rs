//! Which calls the lanes show.

/// Width of the names of the lanes, in CSS pixels.
pub(crate) const NAMES_WIDTH: f64 = 208.0;
/// Space at the right end.
const MARGIN: f64 = 12.0;
/// Width of a call's mark with its space.
const MARKS_WIDTH: f64 = 9.5;

/// Calls that are shown, by the positions after them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stretch {
    pub(crate) first: u64,
    pub(crate) last: u64,
    /// Where the names end and the marks begin.
    pub(crate) left: f64,
    /// Width of one call.
    pub(crate) each: f64,
}

impl Stretch {
    /// The middle of a call's mark.
    pub(crate) fn x(&self, position: u64) -> f64 {
        self.left + (position as f64 - self.first as f64 + 0.5) * self.each
    }

    /// The call at a place.
    pub(crate) fn position(&self, x: f64) -> u64 {
        let ahead = ((x - self.left) / self.each).floor().max(0.0) as u64;
        (self.first + ahead).min(self.last)
    }
}

/// The calls around a position. The stretch stays while the position is in its middle half, so that marks do not move
/// with every step.
pub(crate) fn stretch(position: u64, calls: u64, width: f64) -> Stretch {
    let room = (width - NAMES_WIDTH - MARGIN).max(60.0);
    let count = ((room / MARKS_WIDTH) as u64).max(4);
    let each = room / count.min(calls.max(1)) as f64;
    if calls <= count {
        return Stretch { first: 1, last: calls.max(1), left: NAMES_WIDTH, each: each.min(24.0) };
    }
    let half = count / 2;
    let first = (position / half * half).saturating_sub(half / 2).clamp(1, calls - count + 1);
    Stretch { first, last: first + count - 1, left: NAMES_WIDTH, each }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_position_is_shown() {
        for calls in [1, 5, 100, 12_066] {
            for position in (1..=calls).step_by(7) {
                let stretch = stretch(position, calls, 1254.0);
                assert!(
                    (stretch.first..=stretch.last).contains(&position),
                    "{position} of {calls}: {stretch:?}"
                );
                assert!(stretch.first >= 1 && stretch.last <= calls, "{stretch:?}");
                assert!(stretch.x(stretch.last) < 1254.0, "{stretch:?}");
                assert_eq!(stretch.position(stretch.x(position)), position);
            }
        }
    }
}
