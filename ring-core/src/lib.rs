//! Both sides of a virtqueue, split and packed (virtio 1.2, 2.7 and 2.8), hardened against a bad peer, made to be run, watched
//! and run again.
//!
//! # The two sides
//!
//! A **driver** (the guest's kernel, or a program that drives a device) owns the buffers: it makes them available and gets
//! them back used. A **device** (in a virtual machine monitor, or hardware) takes available buffers, reads and writes
//! what they point to, and hands them back. Both speak through memory that they share, and each wakes the other by
//! notifications, which either may ask not to get.
//!
//! | [`Driver`](driver::Driver) | [`Device`](device::Device) | |
//! | --- | --- | --- |
//! | `add` | `complete` | places a buffer, or its used element; nothing is visible yet |
//! | `publish` | `publish` | makes all of them visible at once |
//! | `notify` | `notify` | says whether the other side asked to be told |
//! | `reap` | `pop` | takes what the other side published |
//! | `enable_notifications` | `enable_notifications` | asks to be told of the next one, and looks once more |
//!
//! How many buffers go between two calls of `publish` is the caller's choice. How the other side is told (a doorbell, an
//! interrupt, an eventfd) is not this crate's matter: `notify` only says whether.
//!
//! # The two formats
//!
//! A **split** ring has a descriptor table and two rings of indices, one written by each side. Its size is a power of two.
//!
//! ```
//! use ring_core::{QueueConfig, Segment, device::{Chain, Device, SplitDevice}, driver::{Driver, SplitDriver}};
//! use ring_core::indirect::TableStrategy;
//! use ring_core::{memory::OwnedMemory, probe::NoProbe, spec::{Features, Layout, feature}};
//!
//! // Ring at guest address 0x1000, indirect tables at 0x2000. Buffers are elsewhere: the rings never look into them.
//! let config = QueueConfig::new(Layout::contiguous(16, 0x1000), Features(feature::INDIRECT_DESC));
//! let memory = OwnedMemory::new(0x1000, 0x2000);
//! let tables = TableStrategy::ListCache { threshold: 4 }.build(16, 0x2000, 0x1000)?;
//! let mut driver = SplitDriver::new(&config, tables)?;
//! let mut device = SplitDevice::new(&config)?;
//!
//! // The driver sends two elements; 7 is its own name for the buffer.
//! let readable = [Segment { address: 0x10_0000, length: 12 }, Segment { address: 0x10_0800, length: 60 }];
//! driver.add(&memory, &mut NoProbe, 7, &readable, &[])?;
//! driver.publish(&memory, &mut NoProbe)?;
//! assert!(driver.notify(&memory, &mut NoProbe)?.needed);
//!
//! // The device takes the buffer, reads what it points to, and gives it back.
//! let mut chain = Chain::default();
//! assert!(device.pop(&memory, &mut NoProbe, &mut chain)?);
//! assert_eq!(chain.readable(), readable);
//! device.complete(&memory, &mut NoProbe, chain.head, 0)?;
//! device.publish(&memory, &mut NoProbe)?;
//!
//! assert_eq!(driver.reap(&memory, &mut NoProbe)?.map(|used| used.token), Some(7));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A **packed** ring is one ring of descriptors that both sides write, of any size. With `IN_ORDER` one used element can
//! stand for many buffers, in either format.
//!
//! ```
//! use ring_core::{QueueConfig, Segment, device::{Chain, Device, PackedDevice}, driver::{Driver, PackedDriver}};
//! use ring_core::indirect::Direct;
//! use ring_core::{memory::OwnedMemory, probe::NoProbe, spec::{Features, Layout, feature}};
//!
//! let features = Features(feature::RING_PACKED | feature::IN_ORDER | feature::EVENT_IDX);
//! let config = QueueConfig::new(Layout::contiguous(12, 0x1000), features);
//! let memory = OwnedMemory::new(0x1000, 0x1000);
//! let mut driver = PackedDriver::new(&config, Direct)?;
//! let mut device = PackedDevice::new(&config)?;
//!
//! // Three buffers to receive into, published together.
//! for token in 0..3 {
//!     driver.add(&memory, &mut NoProbe, token, &[], &[Segment { address: 0x10_0000 + token * 2048, length: 1500 }])?;
//! }
//! driver.publish(&memory, &mut NoProbe)?;
//! assert!(driver.notify(&memory, &mut NoProbe)?.needed);
//!
//! // The device fills them all, and uses them by one used element, that of the last.
//! let mut chain = Chain::default();
//! let mut last = None;
//! while device.pop(&memory, &mut NoProbe, &mut chain)? {
//!     last = Some(chain.head);
//! }
//! device.complete_batch(&memory, &mut NoProbe, last.ok_or("no buffer")?, 64)?;
//! device.publish(&memory, &mut NoProbe)?;
//! assert!(device.notify(&memory, &mut NoProbe)?.needed);
//!
//! // The driver takes everything before it sleeps, and looks again once it asked to be woken.
//! let mut tokens = Vec::new();
//! loop {
//!     while let Some(used) = driver.reap(&memory, &mut NoProbe)? {
//!         tokens.push(used.token);
//!     }
//!     if driver.enable_notifications(&memory)? == 0 {
//!         break;
//!     }
//! }
//! assert_eq!(tokens, [0, 1, 2]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features of the ring
//!
//! Both sides of both formats know `INDIRECT_DESC`, `EVENT_IDX`, `IN_ORDER`, `NOTIFICATION_DATA`
//! ([`Driver::next_available`](driver::Driver::next_available) is what a notification carries) and `RING_RESET`
//! ([`Driver::reset`](driver::Driver::reset) hands every buffer back). Their bits are in [`spec::feature`].
//!
//! **With `EVENT_IDX` a wish for a notification is used up by one.** Whoever sleeps until it is told asks again each time,
//! after taking everything, as above: `enable_notifications` also says what came in between, which nobody may tell of.
//!
//! # Memory
//!
//! The rings reach memory through the trait [`Memory`](memory::Memory) alone, by loads, stores and fences at guest
//! addresses, each checked. It is an argument of every call, not a field: driver and device are plain data, and a copy of
//! one runs on a copy of the other. There is memory [of its own](memory::OwnedMemory), memory
//! [shared](memory) with another thread, process or device, the guest memory of a VMM by rust-vmm's `vm-memory`,
//! and any of these [watched](memory::Observed). All of the crate's unsafe code is in the one that is shared.
//!
//! # Indirect tables
//!
//! A buffer of several elements takes one descriptor of the ring if its elements stand in a table of their own. Where
//! tables come from, and which buffers get one, is said by a [`TableStrategy`](indirect::TableStrategy): never, from an
//! allocator, from one of several caches, behind a threshold or not. [`Counted`](indirect::Counted) counts for any of them.
//!
//! # A bad peer
//!
//! Neither side trusts memory that the other can write. What a side wrote it keeps a shadow of, what it reads it reads once
//! and checks, and a broken rule is a [`Fault`] that names the [rule](spec::Rule), the place, what was found and what was
//! expected. The queue is broken then: every later call returns the same fault, no buffer is handed over twice, and a reset
//! gives back those in flight.
//!
//! # Snapshots
//!
//! Each side gives its private state as plain data and is [restored](snapshot) from it: a VMM migrates its device, a driver
//! comes back after a crash. A snapshot is checked like anything else from outside.
//!
//! # Tracing and replay
//!
//! A [`Probe`](probe::Probe), also an argument of each call, is told what happens, typed; [`NoProbe`](probe::NoProbe)
//! costs nothing. With the feature `serde`, `trace` records the calls of a driver into a file while it runs against any
//! device, and `replay` runs them again through the same code, to any position, with every memory access.
//!
//! # Features of the crate
//!
//! | feature | |
//! | --- | --- |
//! | `std` (default) | memory shared with a peer, recording to a file; without it the crate is `no_std` with `alloc` |
//! | `serde` (default) | traces and replay, serde for public types |
//! | `vm-memory` | rings on the guest memory of rust-vmm's `vm-memory` |
//!
//! # Other crates
//!
//! Split rings are tested in both directions against others: the driver here against the device of rust-vmm's
//! `virtio-queue`, the device here against the driver of rcore's `virtio-drivers`. Neither has packed rings; for those
//! the peer is QEMU's virtio-net.
//!
//! # Layers
//!
//! Each module knows only those before it: [`spec`] (the wire format and the rules), [`memory`], [`probe`],
//! [`indirect`], [`driver`] and [`device`], `trace`, `replay`.
#![cfg_attr(not(feature = "std"), no_std)]
// `memory` lets one module have some, which is not there without std.
#![deny(unsafe_code)]
#![cfg_attr(not(feature = "std"), forbid(unsafe_code))]

extern crate alloc;

mod config;
pub mod device;
pub mod driver;
pub mod fault;
pub mod indirect;
pub mod memory;
mod order;
pub mod probe;
#[cfg(feature = "serde")]
pub mod replay;
mod segment;
mod side;
pub mod snapshot;
pub mod spec;
#[cfg(feature = "serde")]
pub mod trace;

pub use config::{ConfigError, QueueConfig};
pub use fault::Fault;
pub use segment::Segment;
pub use side::Side;
pub use snapshot::SnapshotError;
