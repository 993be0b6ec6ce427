//! A device against a driver that stores whatever it likes, whenever it likes.

use super::{
    checks::Broken,
    contested::{Change, Contested, Seen, TABLES, TABLES_LENGTH},
    either::EitherDriver,
    input::{self, Operation, Setup},
    peer,
};
use ring_core::{
    Fault, QueueConfig, Side,
    device::{Chain, Device, PackedDevice, PackedDeviceState, SplitDevice, SplitDeviceState},
    driver::{PackedDriver, SplitDriver},
    fault::Place,
    memory::Memory,
    probe::NoProbe,
    spec::{
        Descriptor, Format, Layout, MAXIMUM_CHAIN_BYTES, RingCell, Rule, feature,
        packed::{self, Position},
        split::{self, slot},
    },
};

/// What an operation's code means, modulo their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// The driver stores anything, now.
    Store,
    /// The same while the device is at work.
    StoreSoon,
    /// The driver writes a descriptor that comes near to being right.
    Descriptor,
    /// Split: the driver makes a head available that it may never have written.
    Offer,
    /// The driver writes its wish for notifications.
    Wish,
    /// An honest driver on the same memory adds a buffer.
    Add,
    /// It publishes and looks whether to notify.
    PublishAvailable,
    /// It takes back what was used.
    Reap,
    /// It enables or disables notifications.
    DriverNotifications,
    /// From here on, the device that is watched: it takes a buffer.
    Pop,
    /// It takes all there are.
    PopAll,
    /// It uses a buffer that it took, or says so of one that it did not take.
    Complete,
    /// The same for a batch.
    CompleteBatch,
    /// It publishes what it used.
    Publish,
    /// It looks whether to notify.
    Notify,
    /// Everything else, by `small`: wishes, a look, a reset of the queue.
    Other,
}

impl Code {
    pub(crate) const ALL: [Code; 16] = [
        Code::Store,
        Code::StoreSoon,
        Code::Descriptor,
        Code::Offer,
        Code::Wish,
        Code::Add,
        Code::PublishAvailable,
        Code::Reap,
        Code::DriverNotifications,
        Code::Pop,
        Code::PopAll,
        Code::Complete,
        Code::CompleteBatch,
        Code::Publish,
        Code::Notify,
        Code::Other,
    ];
}

/// A device of either format, as its driver sees it.
trait Attacked: Device {
    type State: Copy;
    fn now(&self) -> Self::State;
    /// Ids of the buffers taken and not yet used, lowest first.
    fn held(&self) -> Vec<u16>;
    /// Looks for available buffers, where the format has a call for it.
    fn look<M: Memory>(&mut self, memory: &M) -> Option<Result<(), Fault>>;
    /// Packed: the flags that make the descriptor at a slot available.
    fn available_bits(&self, slot: u16) -> u16;
    /// Whether a call made in this state may store there.
    fn may_store(state: Self::State, layout: &Layout, call: Call, address: u64, length: u64) -> bool;
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Call {
    Look,
    Complete,
    Publish,
    Wish,
}

impl Attacked for SplitDevice {
    type State = SplitDeviceState;
    fn now(&self) -> Self::State {
        self.state()
    }
    fn held(&self) -> Vec<u16> {
        self.taken().map(|(id, _)| id).collect()
    }
    fn look<M: Memory>(&mut self, memory: &M) -> Option<Result<(), Fault>> {
        Some(self.pending_available(memory).map(|_| ()))
    }
    fn available_bits(&self, _: u16) -> u16 {
        0
    }
    fn may_store(state: Self::State, layout: &Layout, call: Call, address: u64, length: u64) -> bool {
        use split::Cell;
        let cells: &[(Cell, u64)] = match call {
            Call::Look => &[],
            Call::Complete => &[(Cell::UsedEntry(slot(layout, state.used_index)), 8)],
            Call::Publish => &[(Cell::UsedIndex, 2)],
            Call::Wish => &[(Cell::AvailableEvent, 2), (Cell::UsedFlags, 2)],
        };
        cells.iter().any(|(cell, bytes)| cell.address(layout) == address && *bytes == length)
    }
}

impl Attacked for PackedDevice {
    type State = PackedDeviceState;
    fn now(&self) -> Self::State {
        self.state()
    }
    fn held(&self) -> Vec<u16> {
        self.taken().map(|(id, _)| id).collect()
    }
    fn look<M: Memory>(&mut self, _: &M) -> Option<Result<(), Fault>> {
        None
    }
    fn available_bits(&self, slot: u16) -> u16 {
        let Position { index, wrap } = self.state().next_available;
        // A slot behind the next one comes a lap later.
        Position { index: slot, wrap: wrap == (slot >= index) }.available_bits()
    }
    fn may_store(state: Self::State, layout: &Layout, call: Call, address: u64, length: u64) -> bool {
        match call {
            Call::Look => false,
            Call::Wish => packed::Cell::DeviceEvent.address(layout) == address && length == 4,
            // The second word of a slot that it has not given back.
            Call::Complete | Call::Publish => {
                let Some(packed::Cell::Descriptor(slot)) = layout.cell_at(address) else { return false };
                let size = layout.queue_size;
                let from = state.published.index;
                let away = if slot >= from { slot - from } else { slot + size - from };
                let its_own = state.next_available.distance_from(state.published, size);
                (away as u32) < its_own && address % 16 == 8 && length == 8
            }
        }
    }
}

/// A buffer that the device took.
struct Held {
    id: u16,
    writable_bytes: u32,
}

struct Attack<'a, V, D> {
    memory: &'a Contested,
    config: QueueConfig,
    device: V,
    driver: D,
    chain: Chain,
    // In the order in which they were taken.
    held: Vec<Held>,
    // Ids that were used and not published: the driver does not have them back.
    unpublished: Vec<u16>,
    broken: Broken,
    token: u64,
}

/// Attacks a device; panics where it breaks a promise.
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
    let tables = setup.tables();
    match config.format() {
        Format::Split => {
            let device = SplitDevice::new(&config).unwrap();
            Attack::new(memory, config, device, SplitDriver::new(&config, tables).unwrap()).run(operations);
        }
        Format::Packed => {
            let device = PackedDevice::new(&config).unwrap();
            Attack::new(memory, config, device, PackedDriver::new(&config, tables).unwrap()).run(operations);
        }
    }
}

impl<'a, V: Attacked, D: EitherDriver> Attack<'a, V, D> {
    fn new(memory: &'a Contested, config: QueueConfig, device: V, driver: D) -> Self {
        let held = Vec::with_capacity(config.layout.queue_size.into());
        let (chain, broken) = (Chain::default(), Broken::default());
        Attack { memory, config, device, driver, chain, held, unpublished: Vec::new(), broken, token: 0 }
    }

    fn run(mut self, operations: impl Iterator<Item = Operation>) {
        for operation in operations {
            self.step(operation);
        }
        let mut held: Vec<u16> = self.held.iter().map(|held| held.id).collect();
        held.sort_unstable();
        assert_eq!(self.device.held(), held, "every buffer taken and not used is still held, and no other");
    }

    fn step(&mut self, operation: Operation) {
        let Operation { code, small, half, word } = operation;
        let peer = self.memory.peer();
        match Code::ALL[code as usize % Code::ALL.len()] {
            Code::Store => self.memory.change(peer::anything(operation)),
            Code::StoreSoon => peer::anything_soon(self.memory, operation),
            Code::Descriptor => self.write_descriptor(operation),
            Code::Offer => self.offer(operation),
            Code::Wish => self.write_wish(half, word),
            Code::Add => {
                let elements = peer::Elements::new(operation);
                let (readable, writable) = (elements.readable(), elements.writable());
                if self.driver.add(peer, &mut NoProbe, self.token, readable, writable).is_ok() {
                    self.token += 1;
                }
            }
            // What an honest driver makes of spoilt memory is another target's matter.
            Code::PublishAvailable => {
                let _ = self.driver.publish(peer, &mut NoProbe);
                let _ = self.driver.notify(peer, &mut NoProbe);
            }
            Code::Reap => while let Ok(Some(_)) = self.driver.reap(peer, &mut NoProbe) {},
            Code::DriverNotifications => {
                let _ = if small & 1 == 0 {
                    self.driver.disable_notifications(peer)
                } else {
                    self.driver.enable_notifications(peer).map(|_| ())
                };
            }
            Code::Pop => _ = self.pop(),
            Code::PopAll => while self.pop() {},
            Code::Complete => self.complete(operation, false),
            Code::CompleteBatch => self.complete(operation, true),
            Code::Publish => {
                let publish = |device: &mut V, memory: &Contested| device.publish(memory, &mut NoProbe);
                if self.call(Call::Publish, 1, publish).0.is_ok() {
                    self.unpublished.clear();
                }
            }
            Code::Notify => {
                _ = self.call(Call::Look, 1, |device, memory| device.notify(memory, &mut NoProbe))
            }
            Code::Other => self.other(small, word),
        }
    }

    fn other(&mut self, small: u8, word: u32) {
        match small % 8 {
            0 | 1 => _ = self.call(Call::Wish, 2, |device, memory| device.enable_notifications(memory)),
            2 => _ = self.call(Call::Wish, 1, |device, memory| device.disable_notifications(memory)),
            3 => _ = self.call(Call::Wish, 1, |device, memory| device.wish(memory, word)),
            4 | 5 => {
                let (looked, seen) = self.memory.call(1, || self.device.look(self.memory));
                if let Some(result) = looked {
                    self.memory.stores(|address, _| panic!("a look stored at {address:#x}"));
                    self.judge(&result, seen);
                }
            }
            6 => {}
            _ => self.reset(),
        }
    }

    /// Makes a call of the device, of at most `bound` accesses, and holds it to its promises.
    #[track_caller]
    fn call<R>(
        &mut self,
        call: Call,
        bound: u32,
        make: impl FnOnce(&mut V, &Contested) -> Result<R, Fault>,
    ) -> (Result<R, Fault>, Seen) {
        let state = self.device.now();
        let layout = self.config.layout;
        let (result, seen) = self.memory.call(bound, || make(&mut self.device, self.memory));
        self.memory.stores(|address, length| {
            let allowed = V::may_store(state, &layout, call, address, length);
            assert!(allowed, "the device stored {length} bytes at {address:#x}");
        });
        self.judge(&result, seen);
        (result, seen)
    }

    fn judge<R>(&mut self, result: &Result<R, Fault>, seen: Seen) {
        let failed = result.as_ref().err().copied();
        self.broken.check(failed, self.device.broken(), seen.accesses, self.config.format(), Side::Device);
    }

    /// Takes a buffer; whether there was one.
    fn pop(&mut self) -> bool {
        let size = self.config.layout.queue_size;
        let mut chain = std::mem::take(&mut self.chain);
        // The index, the head, then a ring's worth of elements in descriptors, the one that refers to a table, and one too
        // many.
        let bound = 2 + size as u32 + 2;
        let (popped, seen) =
            self.call(Call::Look, bound, |device, memory| device.pop(memory, &mut NoProbe, &mut chain));
        self.chain = chain;
        let popped = popped == Ok(true);
        if popped {
            self.check_chain();
            let in_the_ring = self.chain.table.is_some_and(|table| table.address < TABLES);
            assert!(!seen.read_twice || seen.disturbed || in_the_ring, "a byte was read twice");
        }
        popped
    }

    fn check_chain(&mut self) {
        let size = self.config.layout.queue_size;
        let Chain { head, table, .. } = self.chain;
        let (readable, writable) = (self.chain.readable(), self.chain.writable());
        assert!(head < size, "id {head}");
        assert!(self.held.iter().all(|held| held.id != head), "buffer {head} was taken twice");
        assert!(!self.unpublished.contains(&head), "buffer {head} was taken before its use was published");
        let unused = self.held.len() + self.unpublished.len();
        assert!(unused < size as usize, "{unused} buffers and one more of {size}");
        assert!((1..=size as usize).contains(&self.chain.elements()));
        assert_eq!(readable.len() + writable.len(), self.chain.elements());
        let bytes: u64 = readable.iter().chain(writable).map(|segment| segment.length as u64).sum();
        assert!(bytes <= MAXIMUM_CHAIN_BYTES, "{bytes} bytes");
        assert!(table.is_none() || self.config.features.contains(feature::INDIRECT_DESC));
        let writable_bytes = self.chain.writable_bytes().min(u32::MAX.into()) as u32;
        self.held.push(Held { id: head, writable_bytes });
    }

    fn complete(&mut self, operation: Operation, batch: bool) {
        let Operation { small, half, word, .. } = operation;
        let (id, length) = match (small as usize & 0x7f).checked_rem(self.held.len()) {
            Some(index) if small < 0x80 => {
                let held = &self.held[index];
                (held.id, (word as u64 % (held.writable_bytes as u64 + 1)) as u32)
            }
            _ => (half, word),
        };
        let index = self.held.iter().position(|held| held.id == id);
        let in_order = self.config.features.contains(feature::IN_ORDER);
        // Several may be wrong at once; any of them may be told.
        let too_long = index.is_some_and(|index| length > self.held[index].writable_bytes);
        let out_of_order = in_order && !batch && index.is_some_and(|index| index > 0);
        let wrong = [
            (index.is_none(), Rule::UsedId),
            (too_long, Rule::UsedLength),
            (out_of_order || batch && !in_order, Rule::InOrder),
        ];
        let was_broken = self.broken.is_broken();
        let (done, _) = self.call(Call::Complete, 1, |device, memory| {
            if batch {
                device.complete_batch(memory, &mut NoProbe, id, length)
            } else {
                device.complete(memory, &mut NoProbe, id, length)
            }
        });
        match done {
            Err(_) if was_broken => return,
            Ok(()) => assert!(wrong.iter().all(|(is, _)| !is), "a buffer was used that must not be"),
            Err(Fault::Rule { rule, place, .. }) => {
                assert_eq!(place, Place::Call);
                assert!(wrong.contains(&(true, rule)), "{rule} is not what is wrong");
                return;
            }
            // Only where the ring itself lies outside memory; the buffer is gone with the queue.
            Err(Fault::Memory(_)) => assert!(self.config.layout.device_area >= TABLES + TABLES_LENGTH),
        }
        let index = index.unwrap_or_default();
        let used = self.held.drain(if batch { 0..=index } else { index..=index });
        self.unpublished.extend(used.map(|held| held.id));
    }

    fn reset(&mut self) {
        self.device.reset();
        // Fails only where the ring lies outside memory.
        let _ = self.driver.reset(self.memory.peer(), &mut NoProbe, |_| {});
        self.held.clear();
        self.unpublished.clear();
        self.broken.forget();
        assert_eq!((self.device.broken(), self.device.held()), (None, Vec::new()));
    }

    // ── what a bad driver does ──

    fn write_descriptor(&self, Operation { small, half, word, .. }: Operation) {
        let Layout { queue_size, .. } = self.config.layout;
        let [place, next] = half.to_le_bytes();
        let place = place as u16;
        let mut flags = small as u16 & 7;
        let (address, length) = if flags & 4 != 0 && word >> 30 != 0 {
            // A table: some entries of some bytes, mostly where tables are.
            let entries = word & 0x1f;
            let address = TABLES + (word >> 8 & 0x7f) as u64 * 16;
            (address, entries * 16)
        } else if flags & 4 != 0 {
            (peer::strange_address((word >> 24) as u8), word & 0xff_ffff)
        } else {
            (0x10_0000, word)
        };
        let in_ring = place < 0x80;
        let at = if in_ring {
            self.config.layout.descriptor_area + (place % queue_size) as u64 * 16
        } else {
            TABLES + (place & 0x7f) as u64 * 16
        };
        let words = match self.config.format() {
            Format::Split => {
                let odd = if small >> 5 == 7 { 0xff00 } else { 0 };
                Descriptor { address, length, flags: flags | odd, next: next as u16 }.to_words()
            }
            Format::Packed => {
                if in_ring {
                    let available = self.device.available_bits(place % queue_size);
                    let both = packed::descriptor_flag::AVAIL | packed::descriptor_flag::USED;
                    flags |= match small >> 3 & 7 {
                        6 => available ^ both,
                        7 => both,
                        _ => available,
                    };
                }
                packed::Descriptor { address, length, id: next as u16, flags }.to_words()
            }
        };
        // Outside memory only if the ring is.
        let _ = self.memory.peer().store_words(at, words);
    }

    fn offer(&self, Operation { small, half, .. }: Operation) {
        if self.config.format() != Format::Split {
            return;
        }
        use split::Cell;
        let layout = &self.config.layout;
        let index_at = layout.address(Cell::AvailableIndex);
        let index = peer::look(self.memory, index_at);
        let head = if small & 1 == 0 { half % layout.queue_size } else { half };
        let entry = layout.address(Cell::AvailableEntry(slot(layout, index)));
        let more = if small < 0x80 { 1 } else { small as u16 >> 1 & 0x1f };
        for (address, value) in [(entry, head), (index_at, index.wrapping_add(more))] {
            self.memory.change(Change { address, length: 2, value: value.into() });
        }
    }

    fn write_wish(&self, half: u16, word: u32) {
        let layout = &self.config.layout;
        let change = match self.config.format() {
            Format::Packed => {
                let value = if half & 1 == 0 { word & 0x3_800f } else { word };
                let address = layout.address(packed::Cell::DriverEvent);
                Change { address, length: 4, value: value.into() }
            }
            Format::Split => {
                let cell = if word & 1 == 0 { split::Cell::UsedEvent } else { split::Cell::AvailableFlags };
                Change { address: layout.address(cell), length: 2, value: half.into() }
            }
        };
        self.memory.change(change);
    }
}
