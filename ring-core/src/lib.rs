//! Both sides of a virtqueue, made to be run, watched and run again.
//!
//! The crate is layered; each folder knows only those above it:
//!
//! - [`spec`]: the wire format and the [rules](spec::Rule), constants and arithmetic only.
//! - [`memory`]: guest memory, by loads, stores and fences at guest addresses.
//! - [`probe`]: what happened, as typed events.
//! - [`indirect`]: where indirect tables come from.
//! - [`driver`] and [`device`]: the two sides. Neither trusts memory that the other can write: what a side wrote it
//!   keeps a shadow of, what it reads it reads once and checks, and a broken rule is a [`Fault`] with the rule's id.
//! - `trace` and `replay` (feature `serde`): a recorded run, and the same run again through the real code.
//!
//! A buffer's way, on memory of our own:
//!
//! ```
//! use ring_core::{QueueConfig, Segment, device::{Chain, Device, SplitDevice}, driver::{Driver, SplitDriver}};
//! use ring_core::indirect::TableStrategy;
//! use ring_core::{memory::OwnedMemory, probe::NoProbe, spec::{Features, Layout, feature}};
//!
//! let config = QueueConfig::new(Layout::contiguous(16, 0x1000), Features(feature::INDIRECT_DESC));
//! let memory = OwnedMemory::new(0x1000, 0x2000);
//! let tables = TableStrategy::ListCache { threshold: 4 }.build(16, 0x2000, 0x1000)?;
//! let mut driver = SplitDriver::new(&config, tables)?;
//! let mut device = SplitDevice::new(&config)?;
//!
//! let readable = [Segment { address: 0x10_0000, length: 12 }, Segment { address: 0x10_0800, length: 60 }];
//! driver.add(&memory, &mut NoProbe, 7, &readable, &[])?;
//! driver.publish(&memory, &mut NoProbe)?;
//! assert!(driver.notify(&memory, &mut NoProbe)?.needed);
//!
//! let mut chain = Chain::default();
//! assert!(device.pop(&memory, &mut NoProbe, &mut chain)?);
//! assert_eq!(chain.readable(), readable);
//! device.complete(&memory, &mut NoProbe, chain.head, 0)?;
//! device.publish(&memory, &mut NoProbe)?;
//!
//! assert_eq!(driver.reap(&memory, &mut NoProbe)?.map(|used| used.token), Some(7));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

mod config;
pub mod device;
pub mod driver;
pub mod fault;
pub mod indirect;
pub mod memory;
pub mod probe;
#[cfg(feature = "serde")]
pub mod replay;
mod segment;
mod side;
pub mod spec;
#[cfg(feature = "serde")]
pub mod trace;

pub use config::{ConfigError, QueueConfig};
pub use fault::Fault;
pub use segment::Segment;
pub use side::Side;
