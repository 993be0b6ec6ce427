//! What is compared: formats, sizes of buffers, batches, and who moves them.

use crate::{Pair, QUEUE_SIZE, costless::Costless, floor, ours, peer_device, peer_driver};
use ring_core::indirect::{Direct, LineStack, ListCache, PlainAllocation};
use std::{error::Error, fmt};

/// One line of figures.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    pub(crate) packed: bool,
    pub(crate) elements: usize,
    pub(crate) batch: usize,
}

impl Case {
    /// Every case.
    pub(crate) fn all() -> impl Iterator<Item = Case> {
        [false, true].into_iter().flat_map(|packed| {
            [1, 2, 4, 16].into_iter().flat_map(move |elements| {
                // As many as the ring holds without tables.
                [1, 8, 64.min(QUEUE_SIZE as usize / elements)].map(|batch| Case { packed, elements, batch })
            })
        })
    }

    /// Who moves the buffers. Table strategies only where there is something for a table.
    pub(crate) fn variants(self) -> Vec<Variant> {
        let mut variants = vec![Variant::Floor, Variant::Direct];
        if self.elements > 1 {
            variants.extend([
                Variant::Costless,
                Variant::ListCache,
                Variant::LineStack,
                Variant::PlainAllocation,
            ]);
        }
        if !self.packed {
            variants.extend([Variant::VirtioDrivers, Variant::VirtioQueue]);
        }
        variants
    }
}

impl fmt::Display for Case {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Case { packed, elements, batch } = self;
        write!(formatter, "{:<7} {elements:>8} {batch:>5}", if *packed { "packed" } else { "split" })
    }
}

/// Who moves the buffers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Variant {
    /// The least code that can.
    Floor,
    /// Both sides ours, without tables.
    Direct,
    /// Tables that cost nothing.
    Costless,
    ListCache,
    LineStack,
    PlainAllocation,
    /// rcore's driver, without tables, in the place of ours.
    VirtioDrivers,
    /// rust-vmm's device in the place of ours.
    VirtioQueue,
}

impl Variant {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Variant::Floor => "floor",
            Variant::Direct => "direct",
            Variant::Costless => "tables that cost nothing",
            Variant::ListCache => "list cache",
            Variant::LineStack => "line stacks",
            Variant::PlainAllocation => "plain allocation",
            Variant::VirtioDrivers => "driver: virtio-drivers",
            Variant::VirtioQueue => "device: virtio-queue",
        }
    }

    /// Fresh, both sides on empty memory.
    pub(crate) fn pair(self, case: Case) -> Result<Box<dyn Pair>, Box<dyn Error>> {
        let Case { packed, elements, .. } = case;
        match self {
            Variant::Floor if packed => Ok(Box::new(floor::Packed::new(elements))),
            Variant::Floor => Ok(Box::new(floor::Split::new(elements))),
            Variant::Direct => ours::pair(case, false, Direct),
            Variant::Costless => ours::pair(case, true, Costless),
            Variant::ListCache => ours::pair(case, true, ListCache::new(ours::arena(), 16)),
            // 0: a table for every buffer, as the others have.
            Variant::LineStack => ours::pair(case, true, LineStack::new(ours::arena(), 0)),
            Variant::PlainAllocation => ours::pair(case, true, PlainAllocation::new(ours::arena())),
            Variant::VirtioDrivers => Ok(Box::new(peer_driver::VirtioDrivers::new(elements)?)),
            Variant::VirtioQueue => Ok(Box::new(peer_device::VirtioQueue::new(elements)?)),
        }
    }
}
