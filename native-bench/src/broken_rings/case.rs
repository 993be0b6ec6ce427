//! One broken ring, and what is known of it.

use super::raw::{Raw, Written};
use ring_core::spec::{Features, Format, feature};

/// A ring that is handed to both devices.
pub(super) struct Case {
    /// What is broken, in a few words.
    pub(super) name: &'static str,
    /// The ring's format.
    pub(super) format: Format,
    /// Features beside the format that are negotiated.
    pub(super) features: u64,
    /// Writes the ring.
    pub(super) write: fn(&Raw<'_>) -> Written,
    /// What QEMU 10.0 does.
    pub(super) qemu: Expected,
    /// What ring-core does.
    pub(super) own: Expected,
    /// Why the two differ, where they do.
    pub(super) difference: Option<&'static str>,
}

/// A verdict as it is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// So many buffers are used, as if all were well.
    Accepts(usize),
    /// The device wants a reset. QEMU says so with these words, ring-core with this rule; empty for memory that is not
    /// there.
    Refuses(&'static str),
    /// The device finds nothing to do.
    Ignores,
    /// The process ends.
    Ends,
}

/// Indirect tables and event index, as most cases have them.
pub(super) const USUAL: u64 = feature::INDIRECT_DESC | feature::EVENT_IDX;

impl Case {
    /// A case in which both devices agree.
    pub(super) const fn same(
        format: Format,
        name: &'static str,
        qemu: Expected,
        own: Expected,
        write: fn(&Raw<'_>) -> Written,
    ) -> Self {
        Case { name, format, features: USUAL, write, qemu, own, difference: None }
    }

    /// The same with other features.
    pub(super) const fn with(mut self, features: u64) -> Self {
        self.features = features;
        self
    }

    /// The same, where the devices differ, and why.
    pub(super) const fn because(mut self, difference: &'static str) -> Self {
        self.difference = Some(difference);
        self
    }

    /// All features that are negotiated.
    pub(super) fn negotiated(&self) -> Features {
        let packed = if self.format == Format::Packed { feature::RING_PACKED } else { 0 };
        Features(feature::VERSION_1 | self.features | packed)
    }
}
