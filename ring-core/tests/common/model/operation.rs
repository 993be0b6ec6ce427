//! What can be done to a queue, as a random test draws it.

use proptest::prelude::*;
use ring_core::Side;

/// One call, or for the last one the two that belong together.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operation {
    /// With so many elements of each kind.
    Add {
        readable: usize,
        writable: usize,
    },
    Publish,
    Notify,
    /// Looks at what waits to be reaped, without taking it.
    Peek,
    Reap,
    DriverNotifications(bool),
    Pop,
    /// Of the buffers that the device holds, modulo their number; modulo what may be written.
    Complete {
        which: usize,
        length: u32,
    },
    /// So many buffers by one used element, if in order.
    CompleteBatch {
        count: usize,
    },
    PublishUsed,
    NotifyUsed,
    DeviceNotifications(bool),
    /// Both sides, whatever is in flight, if RING_RESET was negotiated.
    Reset,
    /// This side goes away and comes back from its snapshot.
    Restore(Side),
}

impl Operation {
    /// Who calls. A reset is the driver's, which zeroes the ring.
    pub(crate) fn side(self) -> Side {
        match self {
            Operation::Restore(side) => side,
            Operation::Add { .. }
            | Operation::Publish
            | Operation::Notify
            | Operation::Peek
            | Operation::Reap
            | Operation::DriverNotifications(_)
            | Operation::Reset => Side::Driver,
            Operation::Pop
            | Operation::Complete { .. }
            | Operation::CompleteBatch { .. }
            | Operation::PublishUsed
            | Operation::NotifyUsed
            | Operation::DeviceNotifications(_) => Side::Device,
        }
    }
}

/// A random one, in the proportion in which a queue sees them.
pub(crate) fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        16 => (0..5_usize, 0..4_usize).prop_map(|(readable, writable)| Operation::Add { readable, writable }),
        12 => Just(Operation::Publish),
        8 => Just(Operation::Notify),
        16 => Just(Operation::Pop),
        16 => (any::<usize>(), any::<u32>())
            .prop_map(|(which, length)| Operation::Complete { which, length }),
        6 => (1..4_usize).prop_map(|count| Operation::CompleteBatch { count }),
        12 => Just(Operation::PublishUsed),
        8 => Just(Operation::NotifyUsed),
        20 => Just(Operation::Reap),
        2 => Just(Operation::Peek),
        4 => any::<bool>().prop_map(Operation::DriverNotifications),
        4 => any::<bool>().prop_map(Operation::DeviceNotifications),
        1 => Just(Operation::Reset),
        2 => prop_oneof![Just(Side::Driver), Just(Side::Device)].prop_map(Operation::Restore),
    ]
}

/// Brings home everything that is still on its way, when repeated often enough.
pub(crate) const HOME: [Operation; 7] = [
    Operation::Publish,
    Operation::Notify,
    Operation::Pop,
    Operation::Complete { which: 0, length: 0 },
    Operation::PublishUsed,
    Operation::NotifyUsed,
    Operation::Reap,
];
