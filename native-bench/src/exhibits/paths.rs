//! Second exhibit: one path for direct and indirect buffers, and a path for each.
//!
//! The proposal of 2014 chains an indirect table as the ring's own descriptors are, so that one loop fills either. Review
//! asked for tables whose chain is made once. With a path of its own an indirect table needs no chain beforehand: `next` is
//! written with the rest.

use super::{
    ring::{Descriptor, Ring, chain, flags},
    scatter_list::Element,
};

/// Ring descriptors, by a path of their own.
#[inline(always)]
pub fn separate_direct(ring: &mut Ring, elements: &[Element], readable: usize) -> bool {
    super::walks::add_counted(ring, elements, readable)
}

/// An indirect table, by a path of its own.
#[inline(always)]
pub fn separate_indirect(ring: &mut Ring, elements: &[Element], readable: usize) -> bool {
    let count = elements.len();
    let Some(number) = take_table(ring, count) else { return false };
    let Some(table) = ring.tables.get_mut(number as usize) else { return false };
    for ((index, element), descriptor) in elements.iter().enumerate().zip(table) {
        let flags = flags(index >= readable, index + 1 == count);
        let (Element { address, length }, next) = (*element, index as u16 + 1);
        *descriptor = Descriptor { address, length, flags, next };
    }
    ring.add_table(number, count);
    true
}

/// Either, by one path. A table is chained for this buffer, unless `chained` says that it is already.
#[inline(always)]
pub fn unified(
    ring: &mut Ring,
    elements: &[Element],
    readable: usize,
    indirect: bool,
    chained: bool,
) -> bool {
    let count = elements.len();
    if !indirect {
        if count > usize::from(ring.free) {
            return false;
        }
        let head = ring.free_head;
        let following = fill(&mut ring.descriptors, head, elements, readable);
        ring.add(head, following, count as u16);
        return true;
    }
    let Some(number) = take_table(ring, count) else { return false };
    let Some(table) = ring.tables.get_mut(number as usize) else { return false };
    if !chained && let Some(used) = table.get_mut(..count) {
        chain(used);
    }
    fill(table, 0, elements, readable);
    ring.add_table(number, count);
    true
}

/// The loop that fills whichever descriptors it is given, along their chain from `head` on. Returns the one behind.
#[inline(always)]
fn fill(descriptors: &mut [Descriptor], head: u16, elements: &[Element], readable: usize) -> u16 {
    let mut at = head;
    for (index, element) in elements.iter().enumerate() {
        let Some(descriptor) = descriptors.get_mut(usize::from(at)) else { return at };
        descriptor.address = element.address;
        descriptor.length = element.length;
        descriptor.flags = flags(index >= readable, index + 1 == elements.len());
        at = descriptor.next;
    }
    at
}

#[inline(always)]
fn take_table(ring: &mut Ring, entries: usize) -> Option<u32> {
    if ring.free == 0 || entries > super::ring::TABLE_ENTRIES {
        return None;
    }
    ring.free_tables.pop()
}
