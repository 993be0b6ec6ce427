//! Where the words of an index's flag go, so that two of them do not overlap.

/// How much room there is, in columns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ground {
    /// Columns of the rings.
    pub(super) columns: u16,
    /// Columns that the words of a flag take, with its number.
    pub(super) words: u16,
    /// Columns of free space to the left, and to the right.
    pub(super) left: u16,
    pub(super) right: u16,
}

impl Ground {
    /// The stretch of columns that words cover which begin `shift` columns from their boundary.
    fn covers(self, boundary: u16, shift: i32) -> (i32, i32) {
        let from = i32::from(boundary) + shift;
        (from, from + i32::from(self.words))
    }

    fn holds(self, (from, to): (i32, i32)) -> bool {
        from >= -i32::from(self.left) && to <= i32::from(self.columns + self.right)
    }

    /// Ways to shift words, the best first: right of their boundary or left of it, then near it.
    fn shifts(self, first: i32, second: i32) -> impl Iterator<Item = i32> + Clone {
        let width = i32::from(self.words);
        let near = (1..=3 * width).flat_map(move |distance| [-width - distance, distance, -distance]);
        [first, second].into_iter().chain(near)
    }

    /// Where the words of an event flag and an index flag begin that stand on these boundaries, in columns from them: the
    /// event's to the left and the index's to the right, if that is free.
    pub(super) fn place(self, event: u16, index: u16) -> (i32, i32) {
        let left = -i32::from(self.words);
        let free = |(event_shift, index_shift): &(i32, i32)| {
            let (first, second) = (self.covers(event, *event_shift), self.covers(index, *index_shift));
            self.holds(first) && self.holds(second) && (first.1 <= second.0 || second.1 <= first.0)
        };
        let events = self.shifts(left, 0);
        let pairs = self.shifts(0, left).flat_map(|index| events.clone().map(move |event| (event, index)));
        pairs.into_iter().find(free).unwrap_or((left, 0))
    }

    /// Where the words of one flag alone begin.
    pub(super) fn place_one(self, boundary: u16) -> i32 {
        let left = -i32::from(self.words);
        self.shifts(0, left).find(|shift| self.holds(self.covers(boundary, *shift))).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_neither_overlap_nor_leave_the_ground() {
        let wide = Ground { columns: 16, words: 4, left: 3, right: 0 };
        let narrow = Ground { columns: 16, words: 5, left: 0, right: 1 };
        for ground in [wide, narrow] {
            for event in 0..16 {
                for index in 0..16 {
                    let (event_shift, index_shift) = ground.place(event, index);
                    let (first, second) =
                        (ground.covers(event, event_shift), ground.covers(index, index_shift));
                    let what = format!("{ground:?} {event} {index} {event_shift} {index_shift}");
                    assert!(first.1 <= second.0 || second.1 <= first.0, "{what}");
                    assert!(ground.holds(first) && ground.holds(second), "{what}");
                }
                assert!(ground.holds(ground.covers(event, ground.place_one(event))));
            }
        }
    }

    #[test]
    fn words_stand_where_they_belong_if_that_is_free() {
        let ground = Ground { columns: 16, words: 4, left: 3, right: 0 };
        assert_eq!(ground.place(8, 9), (-4, 0));
        assert_eq!(ground.place(8, 8), (-4, 0));
    }
}
