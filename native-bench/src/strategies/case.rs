//! What is moved.

use ring_core::spec::Format;
use serde::Serialize;

/// The order in which the device uses the buffers of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// As they were made available.
    InOrder,
    /// At random, the same each time.
    OutOfOrder,
}

impl Order {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Order::InOrder => "in order",
            Order::OutOfOrder => "out of order",
        }
    }
}

/// Equal buffers in equal batches, each reaped when it is wholly used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Case {
    /// The ring's format.
    pub format: Format,
    /// Elements of a buffer.
    pub elements: usize,
    /// Buffers made available at once.
    pub batch: usize,
    /// How they come back.
    pub order: Order,
}

/// All of them, in the order in which they are run.
pub fn cases() -> impl Iterator<Item = Case> {
    let formats = [Format::Split, Format::Packed];
    formats.into_iter().flat_map(|format| {
        [2, 3, 4, 8, 16].into_iter().flat_map(move |elements| {
            [1, 8, 64].into_iter().flat_map(move |batch| {
                // One buffer has one order.
                let orders =
                    if batch == 1 { &[Order::InOrder][..] } else { &[Order::InOrder, Order::OutOfOrder] };
                orders.iter().map(move |order| Case { format, elements, batch, order: *order })
            })
        })
    })
}
