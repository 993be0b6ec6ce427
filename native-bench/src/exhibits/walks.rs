//! First exhibit: a buffer's elements as an array with a count, and as lists walked by `next`.
//!
//! Linux' ring took either until 2014; the proposal left the lists only, and the ring's own benchmark became 15 % slower. Here
//! the two differ in how the elements are found and in nothing else.

use super::{
    ring::{Ring, flags},
    scatter_list::{Element, ScatterLists},
};

/// Adds a buffer of `elements`, of which the first `readable` ones are readable. `false` if the ring is full.
#[inline(always)]
pub fn add_counted(ring: &mut Ring, elements: &[Element], readable: usize) -> bool {
    let count = elements.len();
    if count > usize::from(ring.free) {
        return false;
    }
    let head = ring.free_head;
    let mut at = head;
    for (index, element) in elements.iter().enumerate() {
        let descriptor = ring.at(at);
        descriptor.address = element.address;
        descriptor.length = element.length;
        descriptor.flags = flags(index >= readable, index + 1 == count);
        at = descriptor.next;
    }
    ring.add(head, at, count as u16);
    true
}

/// Adds a buffer whose readable and writable elements are a list each. `false` if the ring is full.
#[inline(always)]
pub fn add_walked(ring: &mut Ring, lists: &ScatterLists, [readable, writable]: [Option<usize>; 2]) -> bool {
    // How many there are is known only by walking.
    let mut count = 0_u16;
    for list in [readable, writable] {
        let mut entry = list;
        while let Some(at) = entry {
            count += 1;
            entry = lists.next(at);
        }
    }
    if count > ring.free {
        return false;
    }
    let head = ring.free_head;
    let (mut at, mut left) = (head, count);
    for (list, is_writable) in [(readable, false), (writable, true)] {
        let mut entry = list;
        while let Some(place) = entry {
            let element = lists.element(place).unwrap_or_default();
            left -= 1;
            let descriptor = ring.at(at);
            descriptor.address = element.address;
            descriptor.length = element.length;
            descriptor.flags = flags(is_writable, left == 0);
            at = descriptor.next;
            entry = lists.next(place);
        }
    }
    ring.add(head, at, count);
    true
}
