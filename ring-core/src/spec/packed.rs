//! The fields of a packed ring (virtio 1.2, 2.8 "Packed Virtqueues").

use super::{
    Rule,
    layout::{Layout, RingCell},
};
use core::fmt;

/// Bytes of an event structure.
pub(super) const EVENT_LENGTH: u64 = 4;

/// Values of [`Descriptor::flags`] (2.8.1, 2.8.6, 2.8.7).
pub mod descriptor_flag {
    pub use crate::spec::descriptor_flag::{INDIRECT, NEXT, WRITE};

    /// The driver's wrap counter when it made the descriptor available.
    pub const AVAIL: u16 = 1 << 7;
    /// The inverse of it while available; the device's wrap counter once used.
    pub const USED: u16 = 1 << 15;
}

/// Values of [`Event::flags`] (2.8.10 "Driver and Device Event Suppression").
pub mod event_flag {
    /// Notify.
    pub const ENABLE: u16 = 0;
    /// Do not notify.
    pub const DISABLE: u16 = 1;
    /// Notify when the descriptor at the offset is passed; only with `EVENT_IDX`.
    pub const DESC: u16 = 2;
}

/// A position in the ring: a slot and the wrap counter of whoever is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Position {
    /// The slot, below the queue size.
    pub index: u16,
    /// The wrap counter: 1 at first, toggled with each lap (2.8.1).
    pub wrap: bool,
}

impl Position {
    /// Where both sides start.
    pub const START: Position = Position { index: 0, wrap: true };

    /// `slots` further on; at most one lap.
    #[inline(always)]
    #[must_use]
    pub fn advance(self, slots: u16, queue_size: u16) -> Self {
        let index = self.index as u32 + slots as u32;
        if index >= queue_size as u32 {
            Position { index: (index - queue_size as u32) as u16, wrap: !self.wrap }
        } else {
            Position { index: index as u16, wrap: self.wrap }
        }
    }

    /// The next slot.
    #[inline(always)]
    #[must_use]
    pub fn next(self, queue_size: u16) -> Self {
        // One step needs no arithmetic wider than the slot: fewer instructions than `advance`.
        let index = self.index.wrapping_add(1);
        if index >= queue_size {
            Position { index: 0, wrap: !self.wrap }
        } else {
            Position { index, wrap: self.wrap }
        }
    }

    /// How many slots lie from `earlier` to here, modulo two laps.
    #[inline(always)]
    pub fn distance_from(self, earlier: Position, queue_size: u16) -> u32 {
        let laps = 2 * queue_size as u32;
        let line =
            |position: Position| position.index as u32 + if position.wrap { 0 } else { queue_size as u32 };
        let distance = line(self) + laps - line(earlier);
        if distance < laps { distance } else { distance - laps }
    }

    /// `AVAIL` and `USED` of a descriptor that is made available here.
    #[inline(always)]
    pub fn available_bits(self) -> u16 {
        if self.wrap { descriptor_flag::AVAIL } else { descriptor_flag::USED }
    }

    /// `AVAIL` and `USED` of a descriptor that is used here.
    #[inline(always)]
    pub fn used_bits(self) -> u16 {
        if self.wrap { descriptor_flag::AVAIL | descriptor_flag::USED } else { 0 }
    }

    /// Slot and wrap counter as event structures and notifications hold them: 15 bits and one.
    #[inline(always)]
    pub fn to_bits(self) -> u16 {
        self.index | (self.wrap as u16) << 15
    }

    /// The position that such bits name; its slot may be past any ring.
    #[inline(always)]
    pub fn from_bits(bits: u16) -> Self {
        Position { index: bits & 0x7fff, wrap: bits >> 15 == 1 }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "slot {} (wrap counter {})", self.index, self.wrap as u8)
    }
}

/// One descriptor of a packed ring or of an indirect table of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Descriptor {
    /// Guest address of the element or table.
    pub address: u64,
    /// Bytes of the element or table; in a used descriptor, bytes written.
    pub length: u32,
    /// The buffer's id.
    pub id: u16,
    /// See [`descriptor_flag`].
    pub flags: u16,
}

impl Descriptor {
    /// The descriptor as the two little-endian words in memory. The second holds everything but the address, so that
    /// one store of it makes a descriptor available or used.
    #[inline(always)]
    pub fn to_words(self) -> [u64; 2] {
        [self.address, self.length as u64 | (self.id as u64) << 32 | (self.flags as u64) << 48]
    }

    /// The descriptor that two words in memory hold. Any bits make one.
    #[inline(always)]
    pub fn from_words([address, rest]: [u64; 2]) -> Self {
        Descriptor { address, length: rest as u32, id: (rest >> 32) as u16, flags: (rest >> 48) as u16 }
    }

    /// Whether every flag of `mask` is set.
    #[inline(always)]
    pub fn has(self, mask: u16) -> bool {
        self.flags & mask == mask
    }

    /// Whether it is available to a device that is at `position`.
    #[inline(always)]
    pub fn is_available(self, position: Position) -> bool {
        self.flags & (descriptor_flag::AVAIL | descriptor_flag::USED) == position.available_bits()
    }

    /// Whether it is used for a driver that is at `position`.
    #[inline(always)]
    pub fn is_used(self, position: Position) -> bool {
        self.flags & (descriptor_flag::AVAIL | descriptor_flag::USED) == position.used_bits()
    }
}

/// An event structure: what one side wants of the other's notifications (2.8.10).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Event {
    /// With [`event_flag::DESC`]: the position, as [`Position::to_bits`].
    pub offset: u16,
    /// See [`event_flag`].
    pub flags: u16,
}

impl Event {
    /// Notify always.
    pub const ENABLED: Event = Event { offset: 0, flags: event_flag::ENABLE };
    /// Never notify.
    pub const DISABLED: Event = Event { offset: 0, flags: event_flag::DISABLE };

    /// Notify when `position` is passed.
    #[inline(always)]
    pub fn at(position: Position) -> Self {
        Event { offset: position.to_bits(), flags: event_flag::DESC }
    }

    /// Whether a side that went from `from` to `to` must notify the one that wrote this, or the rule that it breaks with
    /// what was expected.
    #[inline(always)]
    pub fn crossed(
        self,
        from: Position,
        to: Position,
        queue_size: u16,
        event_index: bool,
    ) -> Result<bool, (Rule, &'static str)> {
        match self.flags {
            event_flag::ENABLE => Ok(from != to),
            event_flag::DISABLE => Ok(false),
            event_flag::DESC if event_index => {
                let event = Position::from_bits(self.offset);
                if event.index >= queue_size {
                    return Err((Rule::PackedEventOffset, "an offset below the queue size"));
                }
                // Passed if it lies among the slots gone: less than their number behind `to`, itself not counted.
                let gone = to.distance_from(from, queue_size);
                let behind = to.distance_from(event, queue_size);
                Ok(behind != 0 && behind <= gone)
            }
            event_flag::DESC => Err((Rule::PackedEventFlags, "0 or 1, since EVENT_IDX was not negotiated")),
            _ => Err((Rule::PackedEventFlags, "0, 1 or 2, other bits 0")),
        }
    }

    /// The structure as 32 bits in memory, little-endian.
    #[inline(always)]
    pub fn to_bits(self) -> u32 {
        self.offset as u32 | (self.flags as u32) << 16
    }

    /// The structure that 32 bits in memory hold. Any bits make one.
    #[inline(always)]
    pub fn from_bits(bits: u32) -> Self {
        Event { offset: bits as u16, flags: (bits >> 16) as u16 }
    }
}

/// One field of a packed ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Cell {
    /// A descriptor of the ring, by its slot.
    Descriptor(u16),
    /// The event structure that the driver writes.
    DriverEvent,
    /// The event structure that the device writes.
    DeviceEvent,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cell::Descriptor(slot) => write!(f, "descriptor {slot}"),
            Cell::DriverEvent => write!(f, "the driver's event structure"),
            Cell::DeviceEvent => write!(f, "the device's event structure"),
        }
    }
}

impl RingCell for Cell {
    #[inline(always)]
    fn address(self, layout: &Layout) -> u64 {
        match self {
            Cell::Descriptor(slot) => layout.descriptor(slot),
            Cell::DriverEvent => layout.driver_area,
            Cell::DeviceEvent => layout.device_area,
        }
    }

    fn at(layout: &Layout, address: u64) -> Option<Self> {
        if let Some(slot) = layout.descriptor_at(address) {
            return Some(Cell::Descriptor(slot));
        }
        let within = |start: u64| address.checked_sub(start).is_some_and(|offset| offset < EVENT_LENGTH);
        if within(layout.driver_area) {
            Some(Cell::DriverEvent)
        } else if within(layout.device_area) {
            Some(Cell::DeviceEvent)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_found_at_its_address_and_nowhere_else() {
        let layout = Layout::contiguous(5, 0x1000);
        let cells = (0..5).map(Cell::Descriptor).chain([Cell::DriverEvent, Cell::DeviceEvent]);
        for cell in cells {
            assert_eq!(layout.cell_at(layout.address(cell)), Some(cell));
        }
        assert_eq!(layout.cell_at::<Cell>(0xfff), None);
        assert_eq!(layout.cell_at::<Cell>(layout.device_area + 4), None);
    }

    #[test]
    fn a_lap_toggles_the_wrap_counter_exactly_behind_the_last_slot() {
        for size in [1, 2, 5, 32768] {
            let mut position = Position::START;
            for step in 0..4 * size as u32 {
                assert_eq!(position.index as u32, step % size as u32);
                assert_eq!(position.wrap, (step / size as u32).is_multiple_of(2));
                assert_eq!(position.distance_from(Position::START, size), step % (2 * size as u32));
                assert_eq!(Position::from_bits(position.to_bits()), position);
                assert_eq!(position.next(size), position.advance(1, size));
                position = position.next(size);
            }
            assert_eq!(position.advance(size, size), Position { wrap: !position.wrap, ..position });
        }
    }

    #[test]
    fn the_four_states_of_the_two_bits_are_told_apart() {
        for wrap in [false, true] {
            let position = Position { index: 0, wrap };
            let descriptor = |flags| Descriptor { flags, ..Default::default() };
            assert!(descriptor(position.available_bits()).is_available(position));
            assert!(!descriptor(position.available_bits()).is_used(position));
            assert!(descriptor(position.used_bits()).is_used(position));
            assert!(!descriptor(position.used_bits()).is_available(position));
            let next_lap = Position { wrap: !wrap, ..position };
            assert!(!descriptor(position.used_bits()).is_used(next_lap));
            assert!(!descriptor(position.available_bits()).is_available(next_lap));
        }
    }

    #[test]
    fn an_event_is_crossed_exactly_when_its_slot_is_among_those_gone() {
        let size = 5;
        let positions: alloc::vec::Vec<_> = (0..10)
            .map(|step| (0..step).fold(Position::START, |position, _| position.advance(1, size)))
            .collect();
        for from in 0..10 {
            for gone in 0..=size as usize {
                for event in 0..10 {
                    let to = positions[(from + gone) % 10];
                    let among = (0..gone).any(|step| (from + step) % 10 == event);
                    let crossed = Event::at(positions[event]).crossed(positions[from], to, size, true);
                    assert_eq!(crossed, Ok(among), "{from} {gone} {event}");
                }
            }
        }
    }

    #[test]
    fn reserved_events_are_faults() {
        let crossed = |offset, flags, event_index| {
            let to = Position { index: 1, wrap: true };
            Event { offset, flags }.crossed(Position::START, to, 4, event_index).map_err(|(rule, _)| rule)
        };
        assert_eq!(crossed(0, 0, false), Ok(true));
        assert_eq!(crossed(0, 1, false), Ok(false));
        assert_eq!(crossed(0x8000, 2, true), Ok(true));
        assert_eq!(crossed(0x8000, 2, false), Err(Rule::PackedEventFlags));
        assert_eq!(crossed(0, 3, true), Err(Rule::PackedEventFlags));
        assert_eq!(crossed(0, 4, true), Err(Rule::PackedEventFlags));
        assert_eq!(crossed(0x8004, 2, true), Err(Rule::PackedEventOffset));
    }

    #[test]
    fn lies_in_memory_as_the_specification_draws_it() {
        let descriptor = Descriptor { address: 1, length: 0x0403_0201, id: 0x0605, flags: 0x0807 };
        assert_eq!(descriptor.to_words()[1].to_le_bytes(), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(Descriptor::from_words(descriptor.to_words()), descriptor);
        let event = Event::at(Position { index: 0x0102, wrap: true });
        assert_eq!(event.to_bits().to_le_bytes(), [2, 0x81, 2, 0]);
        assert_eq!(Event::from_bits(event.to_bits()), event);
    }
}
