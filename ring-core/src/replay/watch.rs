//! What replay watches memory for.

use super::Writers;
use crate::memory::{Access, AccessKind, Observer};
use alloc::vec::Vec;
use core::cell::RefCell;

/// Notes the writer of every store, and the accesses themselves if someone wants to see them.
pub(super) struct Watch<'a> {
    pub(super) writers: &'a Writers,
    pub(super) position: u64,
    pub(super) log: Option<&'a RefCell<Vec<Access>>>,
}

impl Observer for Watch<'_> {
    fn access(&self, access: Access) {
        if let AccessKind::Store { .. } = access.kind {
            self.writers.wrote(access.address, access.length, self.position);
        }
        if let Some(log) = self.log {
            log.borrow_mut().push(access);
        }
    }
}
