//! Memory that a peer changes even while a side is at work, and that sees what the side does.

use super::pages::Pages;
use ring_core::{
    memory::{Descriptors, Memory, Ordering, OutOfRange, SharedDescriptors, SharedMemory},
    spec::DESCRIPTOR_SIZE,
};
use std::cell::{Cell, RefCell};

/// Where the ring lies: at the beginning of memory.
pub(crate) const BASE: u64 = 0x1000;
/// Where tables lie, behind the ring.
pub(crate) const TABLES: u64 = 0x1400;
pub(crate) const TABLES_LENGTH: u64 = 0x800;
/// Bytes of memory.
pub(crate) const LENGTH: u64 = TABLES + TABLES_LENGTH - BASE;

/// A store that the peer makes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Change {
    pub(crate) address: u64,
    /// Bytes: 2, 4 or 8.
    pub(crate) length: u64,
    pub(crate) value: u64,
}

/// A change that is made once the clock says so.
#[derive(Clone, Copy, Default)]
struct Due {
    at: u32,
    change: Change,
}

/// Changes that can wait at once; more are forgotten.
const WAITING: usize = 8;
const NEVER: u32 = u32::MAX;
const HALVES: usize = LENGTH as usize / 2;

/// What one call did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) accesses: u32,
    /// It loaded a byte twice.
    pub(crate) read_twice: bool,
    /// The peer changed something meanwhile, or a second load gave another value.
    pub(crate) disturbed: bool,
}

/// The memory. One is made for a process, since a fuzzer runs it some ten thousand times a second.
pub(crate) struct Contested {
    memory: SharedMemory,
    // Accesses so far, of all calls.
    clock: Cell<u32>,
    // The access at which the next change is due.
    next_due: Cell<u32>,
    due: RefCell<Vec<Due>>,
    // What second loads are mixed with; 0 leaves them as they are.
    noise: Cell<u64>,
    // From here on: of the current call.
    began: Cell<u32>,
    bound: Cell<u32>,
    loaded: RefCell<[u64; HALVES / 64]>,
    stored: RefCell<Vec<(u64, u64)>>,
    read_twice: Cell<bool>,
    disturbed: Cell<bool>,
    // Lies here so that it is freed last.
    _pages: Pages,
}

impl Contested {
    pub(crate) fn new() -> Self {
        let pages = Pages::new(LENGTH as usize);
        // SAFETY: the pages are freed with this value, and reached through this memory only.
        let memory = unsafe { SharedMemory::new(pages.pointer(), BASE, LENGTH as usize) };
        Contested {
            memory,
            clock: Cell::new(0),
            next_due: Cell::new(NEVER),
            due: RefCell::new(Vec::with_capacity(WAITING)),
            noise: Cell::new(0),
            began: Cell::new(0),
            bound: Cell::new(0),
            loaded: RefCell::new([0; HALVES / 64]),
            stored: RefCell::new(Vec::with_capacity(64)),
            read_twice: Cell::new(false),
            disturbed: Cell::new(false),
            _pages: pages,
        }
    }

    /// Zeroes it all, and forgets what is due. Second loads give other values if `noise` is not 0.
    pub(crate) fn clear(&self, noise: u64) {
        for address in (BASE..BASE + LENGTH).step_by(8) {
            self.change(Change { address, length: 8, value: 0 });
        }
        self.clock.set(0);
        self.next_due.set(NEVER);
        self.due.borrow_mut().clear();
        self.noise.set(noise);
    }

    /// The memory as the peer sees it.
    pub(crate) fn peer(&self) -> &SharedMemory {
        &self.memory
    }

    /// The peer's store. One outside memory does nothing.
    pub(crate) fn change(&self, Change { address, length, value }: Change) {
        let _ = match length {
            2 => self.memory.store_u16(address, value as u16, Ordering::Relaxed),
            4 => self.memory.store_u32(address, value as u32),
            _ => self.memory.store_u64(address, value, Ordering::Relaxed),
        };
    }

    /// The peer's store, just before the access that comes after `accesses` others.
    pub(crate) fn change_after(&self, accesses: u32, change: Change) {
        let mut due = self.due.borrow_mut();
        if due.len() < WAITING {
            let at = self.clock.get() + accesses + 1;
            due.push(Due { at, change });
            self.next_due.set(self.next_due.get().min(at));
        }
    }

    /// Makes a call of the watched side, which may take `bound` accesses.
    pub(crate) fn call<R>(&self, bound: u32, call: impl FnOnce() -> R) -> (R, Seen) {
        self.began.set(self.clock.get());
        self.bound.set(bound);
        *self.loaded.borrow_mut() = [0; HALVES / 64];
        self.stored.borrow_mut().clear();
        self.read_twice.set(false);
        self.disturbed.set(false);
        let result = call();
        let seen = Seen {
            accesses: self.clock.get() - self.began.get(),
            read_twice: self.read_twice.get(),
            disturbed: self.disturbed.get(),
        };
        (result, seen)
    }

    /// Tells of each store of the last call: address and bytes.
    pub(crate) fn stores(&self, mut each: impl FnMut(u64, u64)) {
        self.stored.borrow().iter().for_each(|(address, length)| each(*address, *length));
    }

    fn tick(&self) {
        let now = self.clock.get() + 1;
        self.clock.set(now);
        let (made, bound) = (now - self.began.get(), self.bound.get());
        assert!(made <= bound, "a call made more than {bound} accesses");
        if now >= self.next_due.get() {
            self.make_changes(now);
        }
    }

    #[cold]
    fn make_changes(&self, now: u32) {
        let mut due = self.due.borrow_mut();
        due.retain(|due| {
            if due.at <= now {
                self.change(due.change);
                self.disturbed.set(true);
            }
            due.at > now
        });
        self.next_due.set(due.iter().map(|due| due.at).min().unwrap_or(NEVER));
    }

    /// Takes note of a load, and gives what is mixed into its value.
    fn load(&self, address: u64, length: u64) -> u64 {
        let first = (address - BASE) / 2;
        let mut loaded = self.loaded.borrow_mut();
        let mut again = false;
        for half in first..first + length / 2 {
            let (word, bit) = (&mut loaded[half as usize / 64], 1 << (half % 64));
            again |= *word & bit != 0;
            *word |= bit;
        }
        if !again {
            return 0;
        }
        self.read_twice.set(true);
        let noise = self.noise.get();
        if noise == 0 {
            return 0;
        }
        self.disturbed.set(true);
        // xorshift64: never 0 again.
        let mut next = noise;
        next ^= next << 13;
        next ^= next >> 7;
        next ^= next << 17;
        self.noise.set(next);
        // Now and then the same value, and often one that differs in few bits.
        match next >> 61 {
            0 | 1 => 0,
            2..5 => 1 << (next % 64),
            _ => next,
        }
    }

    fn store(&self, address: u64, length: u64) {
        self.stored.borrow_mut().push((address, length));
    }
}

/// A run of descriptors, each access of which is seen.
pub(crate) struct ContestedDescriptors<'a> {
    contested: &'a Contested,
    run: SharedDescriptors<'a>,
    address: u64,
}

impl ContestedDescriptors<'_> {
    /// Takes note of a load, once it was made.
    fn seen<T>(&self, index: u32, offset: u64, length: u64, value: Option<T>) -> Option<(T, u64)> {
        let address = self.address + index as u64 * DESCRIPTOR_SIZE as u64 + offset;
        value.map(|value| (value, self.contested.load(address, length)))
    }

    fn stored(&self, index: u32, offset: u64, length: u64, done: Option<()>) -> Option<()> {
        let address = self.address + index as u64 * DESCRIPTOR_SIZE as u64 + offset;
        done.map(|()| self.contested.store(address, length))
    }
}

impl Descriptors for ContestedDescriptors<'_> {
    fn load(&self, index: u32) -> Option<[u64; 2]> {
        self.contested.tick();
        let ([first, second], noise) = self.seen(index, 0, 16, self.run.load(index))?;
        Some([first ^ noise.rotate_left(16), second ^ noise])
    }
    fn store(&self, index: u32, words: [u64; 2]) -> Option<()> {
        self.contested.tick();
        self.stored(index, 0, 16, self.run.store(index, words))
    }
    fn load_first(&self, index: u32) -> Option<u64> {
        self.contested.tick();
        self.seen(index, 0, 8, self.run.load_first(index)).map(|(word, noise)| word ^ noise)
    }
    fn store_first(&self, index: u32, word: u64) -> Option<()> {
        self.contested.tick();
        self.stored(index, 0, 8, self.run.store_first(index, word))
    }
    fn load_second(&self, index: u32, ordering: Ordering) -> Option<u64> {
        self.contested.tick();
        self.seen(index, 8, 8, self.run.load_second(index, ordering)).map(|(word, noise)| word ^ noise)
    }
    fn store_second(&self, index: u32, word: u64, ordering: Ordering) -> Option<()> {
        self.contested.tick();
        self.stored(index, 8, 8, self.run.store_second(index, word, ordering))
    }
}

impl Memory for Contested {
    type Descriptors<'a> = ContestedDescriptors<'a>;
    fn descriptors(&self, address: u64, count: u32) -> Result<ContestedDescriptors<'_>, OutOfRange> {
        let run = self.memory.descriptors(address, count)?;
        Ok(ContestedDescriptors { contested: self, run, address })
    }
    fn check_words(&self, address: u64, count: u64) -> Result<(), OutOfRange> {
        self.memory.check_words(address, count)
    }
    fn load_u16(&self, address: u64, ordering: Ordering) -> Result<u16, OutOfRange> {
        self.tick();
        let value = self.memory.load_u16(address, ordering)?;
        Ok(value ^ self.load(address, 2) as u16)
    }
    fn store_u16(&self, address: u64, value: u16, ordering: Ordering) -> Result<(), OutOfRange> {
        self.tick();
        self.memory.store_u16(address, value, ordering)?;
        self.store(address, 2);
        Ok(())
    }
    fn load_u32(&self, address: u64) -> Result<u32, OutOfRange> {
        self.tick();
        let value = self.memory.load_u32(address)?;
        Ok(value ^ self.load(address, 4) as u32)
    }
    fn store_u32(&self, address: u64, value: u32) -> Result<(), OutOfRange> {
        self.tick();
        self.memory.store_u32(address, value)?;
        self.store(address, 4);
        Ok(())
    }
    fn load_u64(&self, address: u64, ordering: Ordering) -> Result<u64, OutOfRange> {
        self.tick();
        let value = self.memory.load_u64(address, ordering)?;
        Ok(value ^ self.load(address, 8))
    }
    fn store_u64(&self, address: u64, value: u64, ordering: Ordering) -> Result<(), OutOfRange> {
        self.tick();
        self.memory.store_u64(address, value, ordering)?;
        self.store(address, 8);
        Ok(())
    }
    fn load_words(&self, address: u64) -> Result<[u64; 2], OutOfRange> {
        self.tick();
        let [first, second] = self.memory.load_words(address)?;
        let noise = self.load(address, 16);
        Ok([first ^ noise.rotate_left(16), second ^ noise])
    }
    fn store_words(&self, address: u64, words: [u64; 2]) -> Result<(), OutOfRange> {
        self.tick();
        self.memory.store_words(address, words)?;
        self.store(address, 16);
        Ok(())
    }
    fn load_singles(&self, address: u64) -> Result<[u32; 2], OutOfRange> {
        self.tick();
        let [first, second] = self.memory.load_singles(address)?;
        let noise = self.load(address, 8);
        Ok([first ^ noise as u32, second ^ (noise >> 32) as u32])
    }
    fn store_singles(&self, address: u64, values: [u32; 2]) -> Result<(), OutOfRange> {
        self.tick();
        self.memory.store_singles(address, values)?;
        self.store(address, 8);
        Ok(())
    }
    fn fence(&self, ordering: Ordering) {
        self.memory.fence(ordering);
    }
}
