//! Memory that is shared by raw pointer.

use std::{
    alloc::{Layout, alloc_zeroed, dealloc},
    ptr::NonNull,
};

/// Zeroed memory, freed when everything on it is gone.
pub(crate) struct Pages {
    pointer: NonNull<u8>,
    layout: Layout,
}

impl Pages {
    /// `length` bytes, more than none, on a page boundary.
    pub(crate) fn new(length: usize) -> Self {
        assert_ne!(length, 0);
        let layout = Layout::from_size_align(length, 4096).unwrap();
        // SAFETY: the size is not zero.
        Pages { pointer: NonNull::new(unsafe { alloc_zeroed(layout) }).unwrap(), layout }
    }

    pub(crate) fn pointer(&self) -> NonNull<u8> {
        self.pointer
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with the same layout.
        unsafe { dealloc(self.pointer.as_ptr(), self.layout) }
    }
}
