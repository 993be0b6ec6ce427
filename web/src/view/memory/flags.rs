//! Where the words of an index's flag go, so that two of them do not overlap.

/// Columns that the words of a flag take, with its number.
const WORDS: u16 = 4;

/// On which side of its boundary a flag's words stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Words {
    Left,
    Right,
    /// To the right, behind the other flag's words.
    FarRight,
    /// To the left, before the other flag's words.
    FarLeft,
}

/// Places the words of an event flag and an index flag that stand on these boundaries of `columns` columns.
pub(super) fn place(event: u16, index: u16, columns: u16) -> (Words, Words) {
    let near_right = |boundary: u16| boundary + WORDS > columns + 1;
    let near_left = |boundary: u16| boundary == 0;
    let index_words = if near_right(index) { Words::Left } else { Words::Right };
    let event_words = if event == index {
        match index_words {
            Words::Left => Words::FarLeft,
            _ if near_left(event) => Words::FarRight,
            _ => Words::Left,
        }
    } else if event < index {
        // The index's words are to the left only at the right end.
        match index_words {
            Words::Left if index - event < WORDS => Words::Left,
            _ => if near_left(event) && index - event >= WORDS { Words::Right } else { Words::Left },
        }
    } else if event - index < 2 * WORDS && index_words == Words::Right {
        // The index's words reach to the right: so do the event's, if there is room between or behind.
        if event - index >= WORDS && !near_right(event) {
            Words::Right
        } else if near_right(event) {
            return (Words::Left, Words::Left);
        } else {
            return (Words::Right, Words::Left);
        }
    } else if near_right(event) {
        Words::Left
    } else {
        Words::Right
    };
    (event_words, index_words)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The stretch of columns that a flag's words cover.
    fn covers(boundary: u16, words: Words) -> (i32, i32) {
        let (at, width) = (i32::from(boundary), i32::from(WORDS));
        match words {
            Words::Left => (at - width, at),
            Words::Right => (at, at + width),
            Words::FarRight => (at + width, at + 2 * width),
            Words::FarLeft => (at - 2 * width, at - width),
        }
    }

    #[test]
    fn words_do_not_overlap() {
        for event in 0..16 {
            for index in 0..16 {
                let (event_words, index_words) = place(event, index, 16);
                let (first, second) = (covers(event, event_words), covers(index, index_words));
                assert!(first.1 <= second.0 || second.1 <= first.0, "{event} {index} {event_words:?} {index_words:?}");
                for (from, to) in [first, second] {
                    // The label's column lies to the left.
                    assert!(from >= -4 && to <= 17, "{event} {index} {event_words:?} {index_words:?}");
                }
            }
        }
    }
}
