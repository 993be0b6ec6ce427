//! Memory that knows who may touch what.

use ring_core::{
    QueueConfig, Side,
    indirect::Table,
    memory::{Access, AccessKind, Observer},
    spec::{Area, Format},
};
use std::{
    cell::{Cell, RefCell},
    collections::{HashMap, HashSet},
    ops::Range,
};

/// Refuses what a side may not do: write what is not its own, write what the other side still holds, read what it wrote
/// itself or what no buffer names, read twice in one call what the other side can change in between.
pub(crate) struct Watch {
    format: Format,
    areas: [Range<u64>; 3],
    tables: Range<u64>,
    side: Cell<Side>,
    // What was read in this call and the other side can write.
    read: RefCell<Vec<Range<u64>>>,
    // 8-byte words that the driver wrote in this call.
    written: RefCell<Vec<u64>>,
    // Words of descriptors that the device may read.
    held: RefCell<HashSet<u64>>,
    // The same by the buffer's token.
    by_token: RefCell<HashMap<u64, Vec<u64>>>,
    // The whole ring is the driver's in this call.
    reset: Cell<bool>,
    // Packed: where the next slot is that comes back.
    next_slot: Cell<u64>,
}

impl Watch {
    pub(crate) fn new(config: &QueueConfig, tables: Range<u64>) -> Self {
        let format = config.format();
        let areas = config.layout.areas(format).map(|Area { address, length, .. }| address..address + length);
        Watch {
            format,
            next_slot: Cell::new(areas[0].start),
            areas,
            tables,
            side: Cell::new(Side::Driver),
            read: RefCell::default(),
            written: RefCell::default(),
            held: RefCell::default(),
            by_token: RefCell::default(),
            reset: Cell::default(),
        }
    }

    /// A call of this side begins.
    pub(crate) fn call(&self, side: Side) {
        self.side.set(side);
        self.reset.set(false);
        self.read.borrow_mut().clear();
        self.written.borrow_mut().clear();
    }

    /// The words of descriptors, in the ring or in this table, that the driver wrote in this call.
    pub(crate) fn written(&self, table: Option<Table>) -> Vec<u64> {
        let [ring, ..] = &self.areas;
        let table = table.map_or(0..0, |table| table.address..table.address + u64::from(table.bytes()));
        let names = |word: &u64| ring.contains(word) || table.contains(word);
        self.written.borrow().iter().copied().filter(names).collect()
    }

    /// A buffer belongs to the device now, and with it these words.
    pub(crate) fn hand_over(&self, token: u64, words: Vec<u64>) {
        self.held.borrow_mut().extend(&words);
        self.by_token.borrow_mut().insert(token, words);
    }

    /// The buffer, which took so many ring descriptors, is the driver's again.
    pub(crate) fn take_back(&self, token: u64, descriptors: u16) {
        let [ring, ..] = &self.areas;
        let mut held = self.held.borrow_mut();
        let packed = self.format == Format::Packed;
        for word in self.by_token.borrow_mut().remove(&token).unwrap_or_default() {
            if !(packed && ring.contains(&word)) {
                held.remove(&word);
            }
        }
        if !packed {
            return;
        }
        // The slots come back in ring order, whichever buffer stood in them: the device copied what it took (2.8.6).
        for _ in 0..descriptors {
            let slot = self.next_slot.get();
            held.remove(&slot);
            held.remove(&(slot + 8));
            self.next_slot.set(if slot + 16 == ring.end { ring.start } else { slot + 16 });
        }
    }

    /// In this call the whole ring is the driver's, to start anew; every buffer is its own again.
    pub(crate) fn take_back_all(&self) {
        self.reset.set(true);
        self.held.borrow_mut().clear();
        self.by_token.borrow_mut().clear();
        self.next_slot.set(self.areas[0].start);
    }

    fn is_held(&self, access: &Access) -> bool {
        let held = self.held.borrow();
        words(access).all(|word| held.contains(&word))
    }

    fn may_write(&self, access: &Access) -> bool {
        let [descriptors, driver, device] = &self.areas;
        let within = |range| is_within(access, range);
        match (self.side.get(), self.format) {
            (Side::Driver, _) => {
                if self.reset.get() {
                    return self.areas.iter().any(within) || within(&self.tables);
                }
                let free = !words(access).any(|word| self.held.borrow().contains(&word));
                free && (within(descriptors) || within(driver) || within(&self.tables))
            }
            (Side::Device, Format::Split) => within(device),
            // A used descriptor is id, length and flags; its address stays as it is (2.8.4).
            (Side::Device, Format::Packed) => {
                let used = access.length == 8 && access.address % 16 == 8;
                within(device) || (used && within(descriptors) && self.is_held(access))
            }
        }
    }

    fn may_read(&self, access: &Access) -> bool {
        let [descriptors, driver, device] = &self.areas;
        let within = |range| is_within(access, range);
        // Flags, id and length of a descriptor, by which each side of a packed ring sees what the other did.
        let marks = self.format == Format::Packed
            && access.length == 8
            && access.address % 16 == 8
            && within(descriptors);
        match self.side.get() {
            // An idle table may hold the link to the next one.
            Side::Driver => within(device) || marks || within(&self.tables),
            Side::Device => {
                let named = within(descriptors) || within(&self.tables);
                within(driver) || marks || (named && self.is_held(access))
            }
        }
    }

    /// Whether the other side can change it at any moment.
    fn is_shared(&self, access: &Access) -> bool {
        // An idle table is the driver's own.
        self.side.get() == Side::Device || !is_within(access, &self.tables)
    }
}

impl Observer for Watch {
    fn access(&self, access: Access) {
        let side = self.side.get();
        match access.kind {
            AccessKind::Store { .. } => {
                assert!(self.may_write(&access), "the {side} wrote at {access:x?}");
                if side == Side::Driver {
                    self.written.borrow_mut().extend(words(&access));
                }
            }
            AccessKind::Load { .. } => {
                assert!(self.may_read(&access), "the {side} read at {access:x?}");
                if self.is_shared(&access) {
                    let mut read = self.read.borrow_mut();
                    let now = access.address..access.address + u64::from(access.length);
                    let again = read.iter().any(|before| before.start < now.end && now.start < before.end);
                    assert!(!again, "the {side} read twice in one call: {access:x?}");
                    read.push(now);
                }
            }
            AccessKind::Fence => {}
        }
    }
}

fn is_within(access: &Access, range: &Range<u64>) -> bool {
    access.address >= range.start && access.address + u64::from(access.length) <= range.end
}

/// The 8-byte words that an access touches.
fn words(access: &Access) -> impl Iterator<Item = u64> {
    ((access.address & !7)..access.address + u64::from(access.length)).step_by(8)
}
