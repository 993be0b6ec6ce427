//! A buffer's elements as a list that is walked by `next` only, as Linux' chained scatter lists are.
//!
//! Entries lie in pieces. Within a piece the next entry is the one behind; a piece's last place may hold a link to another
//! piece in place of an element. The list's end is a mark on its last element.

/// Elements of a piece before the link.
pub const PIECE: usize = 4;

/// An element of a buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Element {
    /// Guest address.
    pub address: u64,
    /// Bytes.
    pub length: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    None,
    /// The last element of a list.
    End,
    /// No element: the list goes on at the index in `address`.
    Link,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    element: Element,
    mark: Mark,
}

/// Where lists lie.
#[derive(Clone, Debug, Default)]
pub struct ScatterLists {
    entries: Vec<Entry>,
}

impl ScatterLists {
    /// Adds a terminated list. Returns where it starts; `None` without elements.
    pub fn add(&mut self, elements: &[Element]) -> Option<usize> {
        let start = self.entries.len();
        let mut pieces = elements.chunks(PIECE).peekable();
        pieces.peek()?;
        while let Some(piece) = pieces.next() {
            self.entries.extend(piece.iter().map(|element| Entry { element: *element, mark: Mark::None }));
            if pieces.peek().is_some() {
                // The next piece lies elsewhere, as it does when it was allocated by itself.
                let next = (self.entries.len() + 1).next_multiple_of(2 * PIECE);
                let link = Element { address: next as u64, length: 0 };
                let nothing = Entry { element: Element::default(), mark: Mark::End };
                self.entries.push(Entry { element: link, mark: Mark::Link });
                self.entries.resize(next, nothing);
            } else if let Some(last) = self.entries.last_mut() {
                last.mark = Mark::End;
            }
        }
        Some(start)
    }

    /// The element at a place.
    #[inline(always)]
    pub fn element(&self, at: usize) -> Option<Element> {
        self.entries.get(at).map(|entry| entry.element)
    }

    /// The place after this one; `None` at the end.
    #[inline(always)]
    pub fn next(&self, at: usize) -> Option<usize> {
        if self.entries.get(at)?.mark == Mark::End {
            return None;
        }
        let next = self.entries.get(at + 1)?;
        Some(if next.mark == Mark::Link { next.element.address as usize } else { at + 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_finds_every_element_in_order() {
        let mut lists = ScatterLists::default();
        let elements: Vec<_> = (1..=19).map(|index| Element { address: index, length: 1 }).collect();
        let counts = [1, 3, 4, 5, 8, 9, 19];
        let starts: Vec<_> = counts.map(|count| lists.add(&elements[..count]).unwrap()).into();
        for (count, start) in counts.into_iter().zip(starts) {
            let walked = std::iter::successors(Some(start), |at| lists.next(*at));
            let walked: Vec<_> = walked.map(|at| lists.element(at).unwrap()).collect();
            assert_eq!(walked, elements[..count]);
        }
        assert_eq!(lists.add(&[]), None);
    }
}
