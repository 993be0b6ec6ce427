//! How a fuzzer's bytes are read: a queue, then operations on it, each of eight bytes.

use arbitrary::{Arbitrary, Unstructured};
use ring_core::{
    QueueConfig,
    indirect::{AnyTableSource, TableStrategy},
    spec::{Features, Layout, feature},
};
use std::cell::OnceCell;

use super::{
    contested::{BASE, TABLES, TABLES_LENGTH},
    strategies,
};

/// The queue that is attacked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Arbitrary)]
pub(crate) struct Setup {
    /// One bit each, see [`shape`].
    pub(crate) shape: u8,
    pub(crate) size: u8,
    pub(crate) start_index: u16,
    /// Which of all [`strategies`].
    pub(crate) strategy: u8,
    /// How much less memory there is for tables, as a power of two.
    pub(crate) shortage: u8,
    /// What second loads are mixed with; 0 for the same value again.
    pub(crate) noise: u16,
}

/// Bits of [`Setup::shape`].
pub(crate) mod shape {
    pub(crate) const PACKED: u8 = 1;
    pub(crate) const INDIRECT: u8 = 2;
    pub(crate) const EVENT: u8 = 4;
    pub(crate) const IN_ORDER: u8 = 8;
    /// The device area lies outside memory.
    pub(crate) const OUTSIDE: u8 = 16;
}

impl Setup {
    pub(crate) fn has(&self, bit: u8) -> bool {
        self.shape & bit != 0
    }

    pub(crate) fn config(&self) -> QueueConfig {
        let bits = [
            (shape::PACKED, feature::RING_PACKED),
            (shape::INDIRECT, feature::INDIRECT_DESC),
            (shape::EVENT, feature::EVENT_IDX),
            (shape::IN_ORDER, feature::IN_ORDER),
        ];
        let features = bits.iter().filter(|(bit, _)| self.has(*bit)).map(|(_, feature)| feature).sum();
        let size: u16 =
            if self.has(shape::PACKED) { 1 + self.size as u16 % 16 } else { 1 << (self.size % 5) };
        let mut layout = Layout::contiguous(size, BASE);
        if self.has(shape::OUTSIDE) {
            layout.device_area += 0x1_0000;
        }
        QueueConfig { layout, features: Features(features), start_index: self.start_index }
    }

    pub(crate) fn strategy(&self) -> TableStrategy {
        thread_local! {
            static OF_SIZE: [OnceCell<Vec<TableStrategy>>; 17] = const { [const { OnceCell::new() }; 17] };
        }
        let size = self.config().layout.queue_size;
        OF_SIZE.with(|all| {
            let all = all[size as usize].get_or_init(|| strategies::every(size));
            all[self.strategy as usize % all.len()]
        })
    }

    /// The strategy at work.
    pub(crate) fn tables(&self) -> AnyTableSource {
        let length = TABLES_LENGTH >> (self.shortage % 8);
        self.strategy().build(self.config().layout.queue_size, TABLES, length).unwrap()
    }

    pub(crate) fn noise(&self) -> u64 {
        self.noise as u64 * 0x0001_0001_0001_0001
    }
}

/// One step of an attack; what its operands mean depends on the code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Arbitrary)]
pub(crate) struct Operation {
    pub(crate) code: u8,
    pub(crate) small: u8,
    pub(crate) half: u16,
    pub(crate) word: u32,
}

/// Reads an attack.
pub(crate) fn read(bytes: &[u8]) -> (Setup, impl Iterator<Item = Operation>) {
    let mut rest = Unstructured::new(bytes);
    // What is missing at the end reads as zeros.
    let setup = rest.arbitrary().unwrap_or_default();
    let operations = std::iter::from_fn(move || (!rest.is_empty()).then(|| rest.arbitrary().ok()).flatten());
    (setup, operations)
}

/// The bytes that are read as this attack.
pub(crate) fn write(setup: Setup, operations: &[Operation]) -> Vec<u8> {
    let Setup { shape, size, start_index, strategy, shortage, noise } = setup;
    let [start_index, noise] = [start_index, noise].map(u16::to_le_bytes);
    let mut bytes = vec![shape, size, start_index[0], start_index[1], strategy, shortage, noise[0], noise[1]];
    for Operation { code, small, half, word } in operations {
        bytes.extend_from_slice(&[*code, *small]);
        bytes.extend_from_slice(&half.to_le_bytes());
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    bytes
}
