//! QEMU as a process of ours: found, started, spoken to, ended.

mod command_line;
mod firmware;
mod locate;
mod process;
mod qtest;
mod stderr_tail;
mod version;

pub use command_line::DEVICE_SLOT;
pub use locate::{ENVIRONMENT_VARIABLE, Located, locate};
pub use process::{Qemu, QemuError, Settings};
pub use qtest::{Qtest, QtestError};
pub use version::Version;
