//! Rings that no driver should make, given to QEMU's device and to ring-core's: what each does with the same bytes.

mod case;
mod own;
mod packed;
mod raw;
mod split;
mod theirs;
mod verdict;

pub use verdict::Verdict;

use crate::{
    Error,
    qemu::{QemuError, Version, locate},
};
use case::Case;
use raw::{BUFFER, END, RING, Raw, WHOLE};
use ring_core::{
    memory::{OutOfRange, OwnedMemory},
    spec::{Format, packed::descriptor_flag::AVAIL},
};
use serde::Serialize;
use std::{path::Path, time::Duration};
use theirs::Theirs;

/// A ring and what the two devices did with it.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// What is broken.
    pub ring: &'static str,
    /// The ring's format.
    pub format: Format,
    /// The negotiated features, by name.
    pub features: Vec<&'static str>,
    /// What QEMU's device did.
    pub qemu: Verdict,
    /// What ring-core's device did.
    pub ring_core: Verdict,
    /// Whether both mean the same, and read the same bytes where both went on.
    pub same: bool,
    /// Why not.
    pub difference: Option<&'static str>,
    /// Whether QEMU's device transmits again after a reset; none if it was not asked.
    pub qemu_works_again: Option<bool>,
    /// Whether ring-core's does.
    pub ring_core_works_again: bool,
    /// Whether QEMU's verdict is the one that is recorded of version 10.0.
    pub qemu_as_recorded: bool,
    /// Whether ring-core's verdict is the recorded one.
    pub ring_core_as_recorded: bool,
}

/// All comparisons.
#[derive(Clone, Debug, Serialize)]
pub struct Comparisons {
    /// QEMU's version.
    pub qemu: String,
    /// Whether the recorded verdicts are of this version.
    pub is_recorded_version: bool,
    /// One for each ring.
    pub rings: Vec<Comparison>,
}

impl Comparisons {
    /// What is not as it is recorded, in words: ring-core's verdicts, QEMU's if they are of the recorded version, a
    /// difference without a reason or a reason without a difference, and a device that did not work after a reset.
    pub fn surprises(&self) -> Vec<String> {
        let mut surprises = Vec::new();
        for ring in &self.rings {
            let mut surprise =
                |what: String| surprises.push(format!("{} {}: {what}", ring.format, ring.ring));
            if !ring.ring_core_as_recorded {
                surprise(format!("ring-core {}", ring.ring_core));
            }
            if !ring.ring_core_works_again {
                surprise("ring-core does not work again after a reset".into());
            }
            if !self.is_recorded_version {
                continue;
            }
            if !ring.qemu_as_recorded {
                surprise(format!("QEMU {}", ring.qemu));
            }
            if ring.qemu_works_again == Some(false) {
                surprise("QEMU does not work again after a reset".into());
            }
            if ring.same == ring.difference.is_some() {
                surprise(if ring.same { "no difference" } else { "a difference without a reason" }.into());
            }
        }
        surprises
    }
}

/// The version whose verdicts are recorded.
const RECORDED: (u32, u32) = (10, 0);

/// Gives every broken ring to both devices. `timeout` is for each of QEMU's answers.
pub fn run(qemu: Option<&Path>, timeout: Duration) -> Result<Comparisons, Error> {
    let located = locate(qemu).map_err(QemuError::from)?;
    let mut theirs = Theirs::new(&located, timeout);
    let version: Version = theirs.version()?;
    let rings = cases().map(|case| compare(case, &mut theirs)).collect::<Result<_, _>>()?;
    let is_recorded_version = version.family() == RECORDED;
    Ok(Comparisons { qemu: version.to_string(), is_recorded_version, rings })
}

fn cases() -> impl Iterator<Item = &'static Case> {
    split::CASES.iter().chain(packed::CASES)
}

/// The last MiB of memory with a ring that any device takes, and as the case has written it.
fn write(case: &Case, raw: &Raw<'_>) -> Result<[OwnedMemory; 2], OutOfRange> {
    raw.clear()?;
    match case.format {
        Format::Split => {
            raw.split(0, BUFFER, WHOLE, 0, 0)?;
            raw.available(&[0], 1)?;
        }
        Format::Packed => raw.packed(0, BUFFER, WHOLE, 0, AVAIL)?,
    }
    let sound = own::copy(raw.memory, RING, END - RING)?;
    raw.clear()?;
    (case.write)(raw)?;
    Ok([sound, own::copy(raw.memory, RING, END - RING)?])
}

fn compare(case: &Case, theirs: &mut Theirs<'_>) -> Result<Comparison, Error> {
    let memory = theirs.memory()?;
    let [sound, written] = write(case, &Raw::new(&memory))?;
    let ours = own::judge(case, &written, &sound)?;
    let judged = theirs.judge(case)?;
    let qemu_works_again = match judged.verdict {
        Verdict::Unavailable { .. } => None,
        _ => Some(theirs.works_again(case)?),
    };
    let same = judged.verdict.agrees_with(&ours.verdict)
        && (!matches!(ours.verdict, Verdict::Accepted { .. }) || judged.packets == ours.packets);
    Ok(Comparison {
        ring: case.name,
        format: case.format,
        features: case.negotiated().names(),
        same,
        difference: case.difference,
        qemu_works_again,
        ring_core_works_again: ours.works_again,
        qemu_as_recorded: judged.verdict.is(case.qemu),
        ring_core_as_recorded: ours.verdict.is(case.own),
        qemu: judged.verdict,
        ring_core: ours.verdict,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{memory_file, system::GuestMemory};

    #[test]
    fn our_device_does_what_is_recorded_with_every_ring() {
        let file = memory_file::create("test", END).unwrap();
        let memory = GuestMemory::map(&file, END as usize).unwrap();
        let mut names = std::collections::BTreeSet::new();
        for case in cases() {
            let [sound, written] = write(case, &Raw::new(&memory)).unwrap();
            let own = own::judge(case, &written, &sound).unwrap();
            assert!(own.verdict.is(case.own), "{} {}: {}", case.format, case.name, own.verdict);
            assert!(own.works_again, "{} {}", case.format, case.name);
            assert!(names.insert((case.format.to_string(), case.name)), "{} comes twice", case.name);
        }
    }
}
