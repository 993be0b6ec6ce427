//! Buffers' ids in the order of their numbers, for `VIRTIO_F_IN_ORDER`.

use alloc::{vec, vec::Vec};

/// The ids of the last buffers by their numbers, which count modulo 2^16. Of those that are asked for, no two numbers lie a
/// queue size or more apart.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    // A power of two of places, so that the numbers' wrap is one of the places' too; none without IN_ORDER.
    ids: Vec<u16>,
}

impl Order {
    pub(crate) fn new(queue_size: u16, in_order: bool) -> Self {
        Order { ids: if in_order { vec![0; (queue_size as usize).next_power_of_two()] } else { Vec::new() } }
    }

    #[inline(always)]
    pub(crate) fn set(&mut self, number: u16, id: u16) {
        let place = number as usize & self.ids.len().wrapping_sub(1);
        if let Some(slot) = self.ids.get_mut(place) {
            *slot = id;
        }
    }

    /// The id that the buffer of this number has.
    #[inline(always)]
    pub(crate) fn get(&self, number: u16) -> Option<u16> {
        self.ids.get(number as usize & self.ids.len().wrapping_sub(1)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_wrap_where_the_queue_size_is_no_power_of_two() {
        let mut order = Order::new(5, true);
        for number in 65_530..65_541_u32 {
            order.set(number as u16, number as u16 ^ 0x55);
            for back in 0..5 {
                let number = (number - back) as u16;
                assert!(number < 65_530 || order.get(number) == Some(number ^ 0x55));
            }
        }
        assert_eq!(Order::new(5, false).get(0), None);
    }
}
