//! Where everything lies in guest memory.

use super::options::{Options, Scenario};
use crate::net::{BufferPool, HEADER_LENGTH};
use ring_core::{
    spec::{DESCRIPTOR_SIZE, Layout},
    trace::MemoryRange,
};

/// Below lies what a PC has at fixed addresses.
const FIRST: u64 = 0x10_0000;
/// Guest memory is given in whole MiB; QEMU's machine wants some.
const MIB: u64 = 1 << 20;
const LEAST: u64 = 16 * MIB;

/// One queue's share.
#[derive(Clone, Debug)]
pub(super) struct QueueMemory {
    pub(super) layout: Layout,
    pub(super) tables: MemoryRange,
    pub(super) pool: BufferPool,
}

/// Addresses of a run.
#[derive(Clone, Debug)]
pub(super) struct MemoryMap {
    pub(super) receive: QueueMemory,
    pub(super) transmit: QueueMemory,
    /// Bytes of guest memory.
    pub(super) bytes: u64,
}

impl MemoryMap {
    pub(super) fn of(options: &Options) -> Self {
        let transmit_capacity = HEADER_LENGTH + options.sizes.longest as u32;
        let receive = queue(options, FIRST, options.receive_elements, options.receive_bytes);
        let transmit = queue(options, receive.pool.end(), options.most_elements(), transmit_capacity);
        let bytes = (transmit.pool.end() + MIB).next_multiple_of(MIB).max(LEAST);
        MemoryMap { receive, transmit, bytes }
    }
}

/// A queue from `base` on, whose buffers have up to `elements` elements and `capacity` bytes.
fn queue(options: &Options, base: u64, elements: u16, capacity: u32) -> QueueMemory {
    let layout = Layout::contiguous(options.queue_size, base);
    let areas = layout.areas(options.format);
    let end = areas.iter().map(|area| area.address + area.length).max().unwrap_or(base).next_multiple_of(64);
    let largest = options.strategy.largest_table(elements);
    // Up to twice a table's size goes to its size class. Where buffers differ, each slot may have had tables of every
    // class up to the largest, which together are at most four times its size.
    let share = if options.scenario == Scenario::Uniform { 2 } else { 4 };
    let table = u64::from(largest.next_power_of_two()) * u64::from(DESCRIPTOR_SIZE) * share;
    let length = if largest == 0 { 0 } else { u64::from(options.queue_size) * table };
    let tables = MemoryRange { base: end, length };
    QueueMemory { layout, tables, pool: BufferPool::new(end + length, options.queue_size, capacity) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tests::options;
    use ring_core::{indirect::TableStrategy, spec::Format};

    #[test]
    fn parts_are_apart_and_inside() {
        for strategy in
            [TableStrategy::Direct, TableStrategy::PlainAllocation, TableStrategy::ListCache { threshold: 4 }]
        {
            for (queue_size, scenario, format) in [
                (1, Scenario::Uniform, Format::Split),
                (256, Scenario::Uniform, Format::Split),
                (16, Scenario::Mixed, Format::Split),
                (255, Scenario::Uniform, Format::Packed),
                (3, Scenario::Mixed, Format::Packed),
            ] {
                let map = MemoryMap::of(&Options { strategy, queue_size, scenario, format, ..options() });
                let mut parts = Vec::new();
                for queue in [&map.receive, &map.transmit] {
                    parts.extend(
                        queue.layout.areas(format).map(|area| (area.address, area.address + area.length)),
                    );
                    parts.push((queue.tables.base, queue.tables.base + queue.tables.length));
                    parts.push((queue.pool.buffer(0), queue.pool.end()));
                }
                for pair in parts.windows(2) {
                    assert!(pair[0].1 <= pair[1].0, "{pair:x?}");
                }
                assert!(parts.last().unwrap().1 <= map.bytes && map.bytes.is_multiple_of(MIB));
            }
        }
    }
}
