//! A wrapper that reports every access, so that a watcher needs no flag inside the rings.

use super::{EachChecked, Memory, Ordering, OutOfRange};

/// What an access did. Values are the bits that were loaded or stored, 16-byte descriptors as two words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// A load and the value it gave.
    Load {
        /// The bits read, low word first.
        value: [u64; 2],
    },
    /// A store, with the value before it.
    Store {
        /// The bits that were there, low word first.
        before: [u64; 2],
        /// The bits written, low word first.
        value: [u64; 2],
    },
    /// A fence; address and length are 0.
    Fence,
}

/// One load, store or fence of one side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Guest address.
    pub address: u64,
    /// Bytes: 2, 4, 8 or 16.
    pub length: u8,
    /// The ordering the ring asked for.
    pub ordering: Ordering,
    /// Load, store or fence.
    pub kind: AccessKind,
}

/// Is told of every access that succeeded, in program order.
pub trait Observer {
    /// `access` has just happened.
    fn access(&self, access: Access);
}

/// `memory`, watched by `observer`.
#[derive(Clone, Debug)]
pub struct Observed<M, O> {
    /// The memory behind.
    pub memory: M,
    /// Who is told.
    pub observer: O,
}

impl<M: Memory, O: Observer> Observed<M, O> {
    fn report(&self, address: u64, length: u8, ordering: Ordering, kind: AccessKind) {
        self.observer.access(Access { address, length, ordering, kind });
    }
}

impl<M: Memory, O: Observer> Memory for Observed<M, O> {
    type Descriptors<'a>
        = EachChecked<'a, Self>
    where
        Self: 'a;
    fn descriptors(&self, address: u64, count: u32) -> Result<EachChecked<'_, Self>, OutOfRange> {
        EachChecked::new(self, address, count)
    }
    fn check_words(&self, address: u64, count: u64) -> Result<(), OutOfRange> {
        self.memory.check_words(address, count)
    }
    fn load_u16(&self, address: u64, ordering: Ordering) -> Result<u16, OutOfRange> {
        let value = self.memory.load_u16(address, ordering)?;
        self.report(address, 2, ordering, AccessKind::Load { value: [value.into(), 0] });
        Ok(value)
    }
    fn store_u16(&self, address: u64, value: u16, ordering: Ordering) -> Result<(), OutOfRange> {
        let before = self.memory.load_u16(address, Ordering::Relaxed)?;
        self.memory.store_u16(address, value, ordering)?;
        let kind = AccessKind::Store { before: [before.into(), 0], value: [value.into(), 0] };
        self.report(address, 2, ordering, kind);
        Ok(())
    }
    fn load_u32(&self, address: u64) -> Result<u32, OutOfRange> {
        let value = self.memory.load_u32(address)?;
        self.report(address, 4, Ordering::Relaxed, AccessKind::Load { value: [value.into(), 0] });
        Ok(value)
    }
    fn store_u32(&self, address: u64, value: u32) -> Result<(), OutOfRange> {
        let before = self.memory.load_u32(address)?;
        self.memory.store_u32(address, value)?;
        let kind = AccessKind::Store { before: [before.into(), 0], value: [value.into(), 0] };
        self.report(address, 4, Ordering::Relaxed, kind);
        Ok(())
    }
    fn load_u64(&self, address: u64, ordering: Ordering) -> Result<u64, OutOfRange> {
        let value = self.memory.load_u64(address, ordering)?;
        self.report(address, 8, ordering, AccessKind::Load { value: [value, 0] });
        Ok(value)
    }
    fn store_u64(&self, address: u64, value: u64, ordering: Ordering) -> Result<(), OutOfRange> {
        let before = self.memory.load_u64(address, Ordering::Relaxed)?;
        self.memory.store_u64(address, value, ordering)?;
        self.report(address, 8, ordering, AccessKind::Store { before: [before, 0], value: [value, 0] });
        Ok(())
    }
    fn load_words(&self, address: u64) -> Result<[u64; 2], OutOfRange> {
        let value = self.memory.load_words(address)?;
        self.report(address, 16, Ordering::Relaxed, AccessKind::Load { value });
        Ok(value)
    }
    fn store_words(&self, address: u64, value: [u64; 2]) -> Result<(), OutOfRange> {
        let before = self.memory.load_words(address)?;
        self.memory.store_words(address, value)?;
        self.report(address, 16, Ordering::Relaxed, AccessKind::Store { before, value });
        Ok(())
    }
    fn fence(&self, ordering: Ordering) {
        self.memory.fence(ordering);
        self.report(0, 0, ordering, AccessKind::Fence);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::OwnedMemory;
    use alloc::{vec, vec::Vec};
    use core::cell::RefCell;

    struct Log(RefCell<Vec<Access>>);
    impl Observer for Log {
        fn access(&self, access: Access) {
            self.0.borrow_mut().push(access);
        }
    }

    #[test]
    fn reports_in_order_and_only_what_happened() {
        let memory = Observed { memory: OwnedMemory::new(0, 16), observer: Log(RefCell::new(vec![])) };
        memory.store_u16(2, 5, Ordering::Release).unwrap();
        memory.fence(Ordering::SeqCst);
        memory.load_u32(0).unwrap();
        memory.load_u16(64, Ordering::Relaxed).unwrap_err();
        let seen: Vec<_> = memory.observer.0.into_inner().iter().map(|a| (a.address, a.kind)).collect();
        assert_eq!(
            seen,
            [
                (2, AccessKind::Store { before: [0, 0], value: [5, 0] }),
                (0, AccessKind::Fence),
                (0, AccessKind::Load { value: [0x5_0000, 0] }),
            ]
        );
    }
}
