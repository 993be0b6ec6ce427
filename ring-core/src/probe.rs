//! What happened, beyond the loads and stores: typed events.

use crate::indirect::Table;

/// Something a queue did. Addresses are guest addresses. Indices are free-running ones on a split ring, and slot with
/// wrap counter ([`Position::to_bits`](crate::spec::packed::Position::to_bits)) on a packed one. `head` is the
/// buffer's id: on a split ring the descriptor that starts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A table came from the allocator.
    TableAllocated(Table),
    /// A table came from a cache.
    TableReused(Table),
    /// A table went into a cache.
    TableCached(Table),
    /// A table went back to the allocator.
    TableFreed(Table),
    /// The driver placed a buffer, not yet visible to the device.
    Placed {
        /// Descriptor that starts it.
        head: u16,
        /// Ring descriptors it takes: 1 with a table.
        descriptors: u16,
        /// The table, if its elements stand in one.
        table: Option<Table>,
    },
    /// The driver made buffers visible: avail.idx moved.
    Published {
        /// avail.idx before.
        from: u16,
        /// avail.idx after.
        to: u16,
    },
    /// A side looked whether the other wants to be notified.
    NotificationDecided {
        /// What it saw, as in [`Notify::seen`](crate::driver::Notify::seen).
        seen: u32,
        /// Index at the last decision.
        from: u16,
        /// Index now.
        to: u16,
        /// Whether a notification is due.
        needed: bool,
    },
    /// The driver got a buffer back.
    Reaped {
        /// Descriptor that started it.
        head: u16,
        /// Ring descriptors it gave back.
        descriptors: u16,
        /// Bytes the device says it wrote.
        length: u32,
    },
    /// The device took a buffer.
    Popped {
        /// Descriptor that starts it.
        head: u16,
        /// Its elements.
        elements: u16,
    },
    /// The device wrote a used element, not yet visible to the driver.
    Completed {
        /// Descriptor that started the buffer.
        head: u16,
        /// Bytes written.
        length: u32,
    },
    /// The device made used elements visible: used.idx moved.
    UsedPublished {
        /// used.idx before.
        from: u16,
        /// used.idx after.
        to: u16,
    },
}

/// Is told of events.
pub trait Probe {
    /// `event` has just happened.
    fn event(&mut self, event: Event);
}

/// Tells nobody: its calls vanish.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProbe;

impl Probe for NoProbe {
    #[inline(always)]
    fn event(&mut self, _: Event) {}
}

impl<P: Probe + ?Sized> Probe for &mut P {
    #[inline]
    fn event(&mut self, event: Event) {
        (**self).event(event);
    }
}

impl Probe for alloc::vec::Vec<Event> {
    fn event(&mut self, event: Event) {
        self.push(event);
    }
}
