//! Drives QEMU's virtio network device with ring-core's rings: every packet verified at both ends, the driver's
//! work measured, the run recorded.

pub mod broken_rings;
pub mod bus;
pub mod cpus;
pub mod doorbell;
mod error;
pub mod exhibits;
pub mod measure;
mod memory_file;
pub mod net;
pub mod pci;
pub mod qemu;
mod record_file;
pub mod run;
pub mod strategies;
pub mod system;
pub mod virtio;

pub use error::Error;
