//! A driver against a device that stores whatever it likes, whenever it likes.

use super::{
    checks::Broken,
    contested::{Change, Contested, Seen, TABLES, TABLES_LENGTH},
    either::EitherDriver,
    input::{self, Operation, Setup},
    peer,
    strategies::goes_indirect,
};
use ring_core::{
    Fault, QueueConfig, Segment, Side,
    device::{Chain, Device, PackedDevice, SplitDevice},
    driver::{AddError, PackedDriver, SplitDriver},
    indirect::{AnyTableSource, Counted, Table, TableSource, TableStrategy},
    probe::{Event, NoProbe, Probe},
    spec::{
        Format, MAXIMUM_CHAIN_BYTES, feature,
        packed::{self, Position},
        split::{self, slot},
    },
};

/// What an operation's code means, modulo their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// The device stores anything, now.
    Store,
    /// The same while the driver is at work.
    StoreSoon,
    /// The device writes a used element that comes near to being right.
    Used,
    /// Split: the device writes used.idx.
    UsedIndex,
    /// The device writes its wish for notifications.
    Wish,
    /// An honest device on the same memory takes every available buffer.
    Pop,
    /// It uses one.
    Complete,
    /// It uses a batch.
    CompleteBatch,
    /// It publishes what it used and looks whether to notify.
    PublishUsed,
    /// It enables or disables notifications.
    DeviceNotifications,
    /// From here on, the driver that is watched: it adds a buffer.
    Add,
    /// It publishes what it added.
    Publish,
    /// It looks whether to notify.
    Notify,
    /// It takes a buffer back.
    Reap,
    /// It looks at what waits to be reaped.
    Look,
    /// Everything else, by `small`: wishes, a reset of the queue.
    Other,
}

impl Code {
    pub(crate) const ALL: [Code; 16] = [
        Code::Store,
        Code::StoreSoon,
        Code::Used,
        Code::UsedIndex,
        Code::Wish,
        Code::Pop,
        Code::Complete,
        Code::CompleteBatch,
        Code::PublishUsed,
        Code::DeviceNotifications,
        Code::Add,
        Code::Publish,
        Code::Notify,
        Code::Reap,
        Code::Look,
        Code::Other,
    ];
}

/// A driver of either format, as its device sees it.
trait Attacked: EitherDriver {
    /// Packed: where it looks for the next used descriptor.
    fn next_used(&self) -> Position;
}

impl<T: TableSource> Attacked for SplitDriver<T> {
    fn next_used(&self) -> Position {
        Position::START
    }
}

impl<T: TableSource> Attacked for PackedDriver<T> {
    fn next_used(&self) -> Position {
        self.state().next_used
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Call {
    Add,
    Publish,
    Wish,
    Look,
    Reap,
}

/// A buffer in flight.
struct Held {
    id: u16,
    token: u64,
    writable_bytes: u32,
    published: bool,
    // A bit for each ring descriptor that it was written to.
    slots: u32,
    table: Option<Table>,
}

/// Takes note of the table that a buffer was placed in.
#[derive(Default)]
struct PlacedTable(Option<Table>);

impl Probe for PlacedTable {
    fn event(&mut self, event: Event) {
        if let Event::Placed { table, .. } = event {
            self.0 = table;
        }
    }
}

struct Attack<'a, D, V> {
    memory: &'a Contested,
    config: QueueConfig,
    driver: D,
    device: V,
    chain: Chain,
    // Buffers that the honest device took.
    taken: Vec<(u16, u64)>,
    // In the order in which they were added.
    held: Vec<Held>,
    broken: Broken,
    token: u64,
    strategy: TableStrategy,
}

/// Attacks a driver; panics where it breaks a promise.
pub(crate) fn run(bytes: &[u8]) {
    thread_local! {
        static MEMORY: Contested = Contested::new();
    }
    let (setup, operations) = input::read(bytes);
    MEMORY.with(|memory| attack(memory, setup, operations));
}

fn attack(memory: &Contested, setup: Setup, operations: impl Iterator<Item = Operation>) {
    let config = setup.config();
    memory.clear(setup.noise());
    // An area outside memory stays as it is.
    let _ = config.initialise(memory.peer());
    let (strategy, tables) = (setup.strategy(), Counted::new(setup.tables()));
    match config.format() {
        Format::Split => {
            let driver = SplitDriver::new(&config, tables).unwrap();
            let device = SplitDevice::new(&config).unwrap();
            Attack::new(memory, config, strategy, driver, device).run(operations);
        }
        Format::Packed => {
            let driver = PackedDriver::new(&config, tables).unwrap();
            let device = PackedDevice::new(&config).unwrap();
            Attack::new(memory, config, strategy, driver, device).run(operations);
        }
    }
}

fn overlap(first: Table, second: Table) -> bool {
    touches(first, second.address, second.bytes().into())
}

fn touches(table: Table, address: u64, length: u64) -> bool {
    table.address < address + length && address < table.address + table.bytes() as u64
}

impl<'a, D: Attacked<Tables = Counted<AnyTableSource>>, V: Device> Attack<'a, D, V> {
    fn new(
        memory: &'a Contested,
        config: QueueConfig,
        strategy: TableStrategy,
        driver: D,
        device: V,
    ) -> Self {
        let size = config.layout.queue_size.into();
        Attack {
            memory,
            config,
            driver,
            device,
            chain: Chain::default(),
            taken: Vec::with_capacity(size),
            held: Vec::with_capacity(size),
            broken: Broken::default(),
            token: 0,
            strategy,
        }
    }

    fn run(mut self, operations: impl Iterator<Item = Operation>) {
        for operation in operations {
            self.step(operation);
        }
        self.reset();
        let idle: u64 = self.driver.tables().idle().map(|table| table.bytes() as u64).sum();
        let held = self.driver.tables().statistics().bytes_held;
        assert_eq!(held, idle, "a table that is not idle when nothing is in flight is lost");
        if self.is_inside() {
            self.works();
        }
    }

    fn is_inside(&self) -> bool {
        self.config.layout.device_area < TABLES
    }

    fn step(&mut self, operation: Operation) {
        let Operation { code, small, half, word } = operation;
        let peer = self.memory.peer();
        match Code::ALL[code as usize % Code::ALL.len()] {
            Code::Store => self.memory.change(peer::anything(operation)),
            Code::StoreSoon => peer::anything_soon(self.memory, operation),
            Code::Used => self.write_used(operation),
            Code::UsedIndex => self.write_used_index(half),
            Code::Wish => self.write_wish(half, word),
            // What an honest device makes of spoilt memory is another target's matter.
            Code::Pop => {
                while let Ok(true) = self.device.pop(peer, &mut NoProbe, &mut self.chain) {
                    self.taken.push((self.chain.head, self.chain.writable_bytes()));
                }
            }
            Code::Complete | Code::CompleteBatch => {
                let batch = Code::ALL[code as usize % Code::ALL.len()] == Code::CompleteBatch;
                let Some(index) = (small as usize).checked_rem(self.taken.len()) else { return };
                let (id, writable_bytes) = self.taken[index];
                let length = (word as u64 % (writable_bytes + 1)) as u32;
                let done = if batch {
                    self.device.complete_batch(peer, &mut NoProbe, id, length)
                } else {
                    self.device.complete(peer, &mut NoProbe, id, length)
                };
                if done.is_ok() {
                    self.taken.drain(if batch { 0..=index } else { index..=index });
                }
            }
            Code::PublishUsed => {
                let _ = self.device.publish(peer, &mut NoProbe);
                let _ = self.device.notify(peer, &mut NoProbe);
            }
            Code::DeviceNotifications => {
                let _ = if small & 1 == 0 {
                    self.device.disable_notifications(peer)
                } else {
                    self.device.enable_notifications(peer).map(|_| ())
                };
            }
            Code::Add => self.add(operation),
            Code::Publish => self.publish(),
            Code::Notify => {
                _ = self.call(Call::Look, 1, |driver, memory| driver.notify(memory, &mut NoProbe))
            }
            Code::Reap => _ = self.reap(),
            Code::Look => self.look(small),
            Code::Other => self.other(small),
        }
    }

    fn other(&mut self, small: u8) {
        let size = self.config.layout.queue_size;
        match small % 8 {
            0..=2 => {
                let bound = 2 + size as u32;
                let (pending, _) =
                    self.call(Call::Wish, bound, |driver, memory| driver.enable_notifications(memory));
                self.check_pending(pending);
            }
            3 => _ = self.call(Call::Wish, 1, |driver, memory| driver.disable_notifications(memory)),
            4 | 5 => while self.reap() {},
            6 => {}
            _ => {
                self.reset();
                self.device.reset();
                self.taken.clear();
            }
        }
    }

    /// Makes a call of the driver, of at most `bound` accesses, and holds it to its promises.
    #[track_caller]
    fn call<R>(
        &mut self,
        call: Call,
        bound: u32,
        make: impl FnOnce(&mut D, &Contested) -> Result<R, Fault>,
    ) -> (Result<R, Fault>, Seen) {
        let entry = slot(&self.config.layout, self.driver.next_available());
        let unpublished = self.held.iter().filter(|held| !held.published).count() as u16;
        let taken = self.slots_taken();
        let (result, seen) = self.memory.call(bound, || make(&mut self.driver, self.memory));
        let entry = slot(&self.config.layout, entry.wrapping_add(unpublished));
        self.memory.stores(|address, length| {
            let allowed = self.may_store(call, entry, taken, address, length);
            assert!(allowed, "the driver stored {length} bytes at {address:#x}");
        });
        // A buffer that is refused once it has a table gives it back in the same call.
        if result.is_ok() && call != Call::Add {
            assert!(!seen.read_twice || seen.disturbed, "a byte was read twice");
        }
        let failed = result.as_ref().err().copied();
        self.broken.check(failed, self.driver.broken(), seen.accesses, self.config.format(), Side::Driver);
        (result, seen)
    }

    /// A bit for each ring descriptor that is not the driver's to fill.
    fn slots_taken(&self) -> u32 {
        match self.config.format() {
            Format::Split => self.held.iter().fold(0, |all, held| all | held.slots),
            // On a packed ring it is the place that counts, not what a buffer was once written to.
            Format::Packed => {
                let size = self.config.layout.queue_size;
                let first = self.driver.next_used();
                let count = size - self.driver.free();
                (0..count).fold(0, |all, away| all | 1 << first.advance(away, size).index)
            }
        }
    }

    /// Whether a call may store there. `entry` is the slot of the available ring that is the next to be filled, `taken` has
    /// a bit for each ring descriptor that must not be.
    fn may_store(&self, call: Call, entry: u16, taken: u32, address: u64, length: u64) -> bool {
        let layout = &self.config.layout;
        if address >= TABLES {
            let inside = address + length <= TABLES + TABLES_LENGTH;
            let in_flight = self.held.iter().filter_map(|held| held.table);
            // That a table comes back is known only behind the call, and so is which one it is.
            return match call {
                Call::Add => inside && in_flight.into_iter().all(|table| !touches(table, address, length)),
                Call::Reap => inside,
                _ => false,
            };
        }
        let unpublished =
            || self.held.iter().filter(|held| !held.published).fold(0, |all, held| all | held.slots);
        match self.config.format() {
            Format::Split => match (call, layout.cell_at(address)) {
                (Call::Add, Some(split::Cell::Descriptor(slot))) => taken >> slot & 1 == 0,
                (Call::Add, Some(split::Cell::AvailableEntry(slot))) => slot == entry && length == 2,
                (Call::Publish, Some(split::Cell::AvailableIndex)) => length == 2,
                (Call::Wish, Some(split::Cell::UsedEvent | split::Cell::AvailableFlags)) => length == 2,
                _ => false,
            },
            Format::Packed => match (call, layout.cell_at(address)) {
                (Call::Add, Some(packed::Cell::Descriptor(slot))) => taken >> slot & 1 == 0,
                (Call::Publish, Some(packed::Cell::Descriptor(slot))) => unpublished() >> slot & 1 == 1,
                (Call::Wish, Some(packed::Cell::DriverEvent)) => length == 4,
                _ => false,
            },
        }
    }

    fn add(&mut self, operation: Operation) {
        let elements = peer::Elements::new(operation);
        let (readable, writable) = (elements.readable(), elements.writable());
        let token = self.token;
        let mut placed = PlacedTable::default();
        let mut refused = None;
        let idle = self.driver.tables().idle().count() as u32;
        let free = self.driver.free();
        // Two stores for the first element, one for each other, an entry; and what a table takes: links to the idle ones, or
        // a chain through a new one.
        let bound = elements.count() as u32 + 8 + idle.max(32);
        let (added, seen) = self.call(Call::Add, bound, |driver, memory| {
            match driver.add(memory, &mut placed, token, readable, writable) {
                Ok(id) => Ok(Some(id)),
                Err(AddError::Fault(fault)) => Err(fault),
                Err(error) => {
                    refused = Some(error);
                    Ok(None)
                }
            }
        });
        self.check_refusal(refused, &elements, free);
        let Ok(Some(id)) = added else {
            assert!(
                self.broken.is_broken() || self.driver.free() == free,
                "nothing was added, but something taken"
            );
            return;
        };
        assert!(!seen.read_twice || seen.disturbed, "a byte was read twice");
        let size = self.config.layout.queue_size;
        assert!(id < size, "id {id}");
        assert!(self.held.iter().all(|held| held.id != id), "id {id} was given twice");
        let mut slots = 0;
        self.memory.stores(|address, _| {
            if let Some(slot) = (address < TABLES).then(|| self.descriptor_at(address)).flatten() {
                slots |= 1 << slot;
            }
        });
        let table = placed.0;
        if let Some(table) = table {
            let end = table.address + table.bytes() as u64;
            assert!(table.address >= TABLES && end <= TABLES + TABLES_LENGTH, "{table:?}");
            assert!(table.entries as usize >= elements.count(), "{table:?}");
            assert!(self.held.iter().all(|held| held.table.is_none_or(|other| !overlap(other, table))));
            assert!(self.driver.tables().idle().all(|other| !overlap(other, table)));
            assert!(self.config.features.contains(feature::INDIRECT_DESC));
            assert!(goes_indirect(self.strategy, elements.count() as u16, free, size), "{}", self.strategy);
        }
        let writable_bytes = elements.writable_bytes().min(u32::MAX.into()) as u32;
        self.held.push(Held { id, token, writable_bytes, published: false, slots, table });
        self.token += 1;
    }

    fn descriptor_at(&self, address: u64) -> Option<u16> {
        let offset = address.checked_sub(self.config.layout.descriptor_area)?;
        (offset < self.config.layout.queue_size as u64 * 16).then_some((offset / 16) as u16)
    }

    fn check_refusal(&self, refused: Option<AddError>, elements: &peer::Elements, free: u16) {
        match refused {
            None | Some(AddError::Fault(_)) => {}
            Some(AddError::Full { needed, free: told }) => {
                assert!(
                    needed > told && told == free,
                    "full with {told} free, {needed} needed, {free} counted"
                );
                assert!(needed as usize <= elements.count().max(1));
            }
            Some(AddError::Refused(fault)) => {
                let size = self.config.layout.queue_size as usize;
                let (count, bytes) = (elements.count(), elements.bytes());
                let rightly = count == 0 || count > size || bytes > MAXIMUM_CHAIN_BYTES;
                assert!(rightly, "{count} elements of {bytes} bytes were refused: {fault}");
            }
        }
    }

    fn publish(&mut self) {
        let (published, _) =
            self.call(Call::Publish, 1, |driver, memory| driver.publish(memory, &mut NoProbe));
        if published.is_ok() {
            self.held.iter_mut().for_each(|held| held.published = true);
        }
    }

    /// Takes a buffer back; whether there was one.
    fn reap(&mut self) -> bool {
        let (reaped, _) = self.call(Call::Reap, 8, |driver, memory| driver.reap(memory, &mut NoProbe));
        let Ok(Some(used)) = reaped else { return false };
        let index = self.held.iter().position(|held| held.token == used.token);
        let Some(index) = index else { panic!("token {} is not in flight", used.token) };
        let held = self.held.remove(index);
        assert!(held.published, "a buffer came back that was never published");
        assert_eq!(held.id, used.head);
        assert!(used.length <= held.writable_bytes, "{} of {} bytes", used.length, held.writable_bytes);
        assert!(index == 0 || !self.config.features.contains(feature::IN_ORDER), "out of order");
        self.check_links();
        true
    }

    /// What was stored when a table came back lies in no table that is still in flight.
    fn check_links(&self) {
        self.memory.stores(|address, length| {
            let mut in_flight = self.held.iter().filter_map(|held| held.table);
            assert!(
                in_flight.all(|table| !touches(table, address, length)),
                "a store at {address:#x}, in flight"
            );
        });
    }

    fn look(&mut self, small: u8) {
        let bound = 1 + 2 * self.config.layout.queue_size as u32;
        if small & 1 == 0 {
            let (pending, _) = self.call(Call::Look, bound, |driver, memory| driver.pending_used(memory));
            self.check_pending(pending);
            return;
        }
        let mut elements = 0;
        _ = self.call(Call::Look, bound, |driver, memory| {
            driver.peek_used(memory, |element| {
                elements += 1;
                assert_ne!(element.buffers, 0);
            })
        });
        assert!(elements <= self.config.layout.queue_size);
    }

    fn check_pending(&self, pending: Result<u16, Fault>) {
        let Ok(pending) = pending else { return };
        let published = self.held.iter().filter(|held| held.published).count();
        assert!(pending as usize <= published, "{pending} wait, and {published} are with the device");
    }

    /// Everything still in flight comes back, once, and the ring is zeroed.
    fn reset(&mut self) {
        let areas = self.config.layout.areas(self.config.format());
        let fields: u64 = areas.iter().map(|area| area.length / 2).sum();
        let bound = fields as u32 + 4 * self.held.len() as u32;
        let held = &mut self.held;
        let (reset, _) = self.memory.call(bound, || {
            self.driver.reset(self.memory, &mut NoProbe, |token| {
                let index = held.iter().position(|held| held.token == token);
                let Some(index) = index else { panic!("token {token} came back and was not in flight") };
                held.swap_remove(index);
            })
        });
        assert!(self.held.is_empty(), "{} buffers are lost", self.held.len());
        self.memory.stores(|address, length| {
            let within = |start: u64, bytes: u64| address >= start && address + length <= start + bytes;
            let in_ring = areas.iter().any(|area| within(area.address, area.length));
            assert!(
                in_ring || within(TABLES, TABLES_LENGTH),
                "a reset stored {length} bytes at {address:#x}"
            );
        });
        assert_eq!(reset.is_ok(), self.is_inside());
        assert_eq!(self.driver.broken(), reset.err());
        let size = self.config.layout.queue_size;
        assert_eq!(self.driver.free(), size, "descriptors are lost");
        let mut named = self.driver.named_descriptors();
        named.sort_unstable();
        assert!(named.is_empty() || named.into_iter().eq(0..size), "descriptors are lost or doubled");
        assert!(self.driver.held().is_empty());
        self.broken.forget();
    }

    /// After a reset the queue works again.
    fn works(&mut self) {
        let (peer, probe) = (self.memory.peer(), &mut NoProbe);
        self.device.reset();
        let element = [Segment { address: 0x10_0000, length: 8 }];
        for token in 0..3 {
            let id = self.driver.add(peer, probe, token, &[], &element).unwrap();
            self.driver.publish(peer, probe).unwrap();
            assert!(self.driver.notify(peer, probe).unwrap().needed || token > 0);
            assert_eq!(self.device.pop(peer, probe, &mut self.chain), Ok(true));
            assert_eq!((self.chain.head, self.chain.writable()), (id, &element[..]));
            self.device.complete(peer, probe, id, 5).unwrap();
            self.device.publish(peer, probe).unwrap();
            let used = self.driver.reap(peer, probe).unwrap().unwrap();
            assert_eq!((used.token, used.length), (token, 5));
        }
    }

    // ── what a bad device does ──

    fn write_used(&self, Operation { small, half, word, .. }: Operation) {
        let layout = &self.config.layout;
        let id = match (half as usize & 0xff).checked_rem(self.held.len()) {
            Some(index) if small & 1 == 0 => self.held[index].id,
            _ => half & 0xff,
        };
        let length = if small & 2 == 0 { word & 0x1ff } else { word };
        match self.config.format() {
            Format::Split => {
                let index_at = layout.address(split::Cell::UsedIndex);
                let index = peer::look(self.memory, index_at);
                let entry = layout.address(split::Cell::UsedEntry(slot(layout, index)));
                let more = if small < 0x80 { 1 } else { small as u16 >> 2 & 0x1f };
                for (address, length, value) in [
                    (entry, 4, id as u64),
                    (entry + 4, 4, length.into()),
                    (index_at, 2, index.wrapping_add(more).into()),
                ] {
                    self.memory.change(Change { address, length, value });
                }
            }
            Format::Packed => {
                let next = self.driver.next_used();
                // Another one at times, and further on than the driver looks.
                let position = next.advance((half >> 8) % layout.queue_size, layout.queue_size);
                let write = if small & 4 == 0 { packed::descriptor_flag::WRITE } else { 0 };
                let odd = if small >= 0xe0 { 0x7f7d } else { 0 };
                let flags = (position.used_bits() | write) ^ odd;
                let [_, value] = packed::Descriptor { address: 0, length, id, flags }.to_words();
                let address = layout.address(packed::Cell::Descriptor(position.index)) + 8;
                self.memory.change(Change { address, length: 8, value });
            }
        }
    }

    fn write_used_index(&self, value: u16) {
        if self.config.format() == Format::Split {
            let address = self.config.layout.address(split::Cell::UsedIndex);
            self.memory.change(Change { address, length: 2, value: value.into() });
        }
    }

    fn write_wish(&self, half: u16, word: u32) {
        let layout = &self.config.layout;
        let change = match self.config.format() {
            Format::Packed => {
                let value = if half & 1 == 0 { word & 0x3_800f } else { word };
                let address = layout.address(packed::Cell::DeviceEvent);
                Change { address, length: 4, value: value.into() }
            }
            Format::Split => {
                let cell = if word & 1 == 0 { split::Cell::AvailableEvent } else { split::Cell::UsedFlags };
                Change { address: layout.address(cell), length: 2, value: half.into() }
            }
        };
        self.memory.change(change);
    }
}
