//! Inputs that make a queue work as it should, so that a fuzzer starts where everything is reached.

use super::harness::{
    device, driver,
    input::{self, Operation, Setup},
    trace,
};

/// Shapes, sizes and strategies that differ in what they reach.
fn setups() -> impl Iterator<Item = Setup> {
    (0..64_u8).map(|index| Setup {
        // Every combination of format, tables, event index and order.
        shape: index % 16,
        size: [3, 15, 4, 0][index as usize / 16] + index % 2,
        // Indices that wrap, half of the time.
        start_index: if index % 4 < 2 { 0 } else { 65_533 },
        strategy: index.wrapping_mul(7),
        shortage: index % 5,
        noise: if index % 3 == 0 { 1 + index as u16 } else { 0 },
    })
}

/// Numbers that differ from seed to seed, and are the same each time.
struct Numbers(u32);

impl Numbers {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.0 >> 8
    }
}

/// An operation with operands that mean something.
fn operation(code: u8, numbers: &mut Numbers) -> Operation {
    let word = numbers.next() << 8 | numbers.next() & 0xff;
    // Few elements of each kind, and short ones.
    let small = (numbers.next() & 0o33) as u8;
    Operation { code, small, half: (numbers.next() & 0xfffe) as u16, word }
}

/// Inputs for the device: an honest driver on the same memory, and now and then one that is not.
pub(crate) fn of_device() -> Vec<Vec<u8>> {
    use device::Code::{
        Add, Complete, CompleteBatch, Descriptor, DriverNotifications, Notify, Offer, Other, Pop, PopAll,
        Publish, PublishAvailable, Reap, Store, StoreSoon, Wish,
    };
    let honest = [
        Add,
        Add,
        PublishAvailable,
        PopAll,
        Complete,
        Other,
        CompleteBatch,
        Publish,
        Notify,
        Reap,
        DriverNotifications,
    ];
    let bad =
        [Descriptor, Offer, Pop, Add, PublishAvailable, StoreSoon, PopAll, Wish, Notify, Store, Other, Pop];
    rounds(
        &honest.map(|code| position(&device::Code::ALL, code)),
        &bad.map(|code| position(&device::Code::ALL, code)),
    )
}

/// Inputs for the driver: an honest device on the same memory, and now and then one that is not.
pub(crate) fn of_driver() -> Vec<Vec<u8>> {
    use driver::Code::{
        Add, Complete, CompleteBatch, DeviceNotifications, Look, Notify, Other, Pop, Publish, PublishUsed,
        Reap, Store, StoreSoon, Used, UsedIndex, Wish,
    };
    let honest = [
        Add,
        Add,
        Publish,
        Notify,
        Pop,
        Complete,
        CompleteBatch,
        DeviceNotifications,
        PublishUsed,
        Look,
        Reap,
        Reap,
        Other,
    ];
    let bad =
        [Add, Publish, Used, Look, StoreSoon, Reap, Wish, Notify, Add, Store, Add, Reap, UsedIndex, Reap];
    rounds(
        &honest.map(|code| position(&driver::Code::ALL, code)),
        &bad.map(|code| position(&driver::Code::ALL, code)),
    )
}

/// Inputs for the reader of traces: files as they are written, and calls to be written.
pub(crate) fn of_trace() -> Vec<Vec<u8>> {
    // In the order in which both sides make them on one buffer.
    let calls = [0, 0, 1, 2, 6, 7, 9, 10, 3, 5, 11, 4, 12, 6, 8, 9, 3, 13];
    let mut seeds = Vec::new();
    for (index, seed) in rounds(&calls, &calls).into_iter().enumerate() {
        let mut form = |form: trace::Form, bytes: &[u8]| {
            let form = trace::Form::ALL.iter().position(|other| *other == form).unwrap_or_default();
            seeds.push([&[form as u8], bytes].concat());
        };
        form(if index % 4 == 0 { trace::Form::Lines } else { trace::Form::Calls }, &seed);
        if index % 8 == 0
            && let Some((blocks, lines)) = trace::encodings(&seed)
        {
            form(trace::Form::Blocks, &blocks);
            form(trace::Form::File, lines.as_bytes());
        }
    }
    seeds
}

fn position<C: PartialEq>(all: &[C], code: C) -> u8 {
    all.iter().position(|other| *other == code).unwrap_or_default() as u8
}

/// For each setup, two rounds of honest calls, then bad ones among them.
fn rounds(honest: &[u8], bad: &[u8]) -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for (setup, seed) in setups().zip(1..) {
        let mut numbers = Numbers(seed);
        let codes = honest.iter().chain(honest).chain(bad);
        // Some without the bad end.
        let length = if seed % 3 == 0 { 2 * honest.len() } else { usize::MAX };
        let operations: Vec<Operation> =
            codes.take(length).map(|code| operation(*code, &mut numbers)).collect();
        seeds.push(input::write(setup, &operations));
    }
    seeds
}
