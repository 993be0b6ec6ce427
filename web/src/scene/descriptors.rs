//! The descriptor table: in full, or cache lines around what matters, and the whole ring as bars.

use super::{
    Mark,
    buffers::InFlightBuffers,
    deeds::Marks,
    moment::{Moment, View},
};
use ring_core::spec::{DESCRIPTOR_SIZE, descriptor_flag, split::Cell};
use serde::{Deserialize, Serialize};

/// Descriptors in a cache line of 64 bytes.
pub(super) const LINE: u16 = 4;

/// Where on its way the buffer is that holds a descriptor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SlotState {
    /// Held by none: what is in it is left over.
    #[default]
    Free,
    /// Written by the driver, not yet published.
    Written,
    /// Published, not yet taken.
    Available,
    /// Taken by the device.
    Taken,
    /// Used by the device, not yet seen by the driver.
    Used,
}

/// A descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DescriptorRow {
    /// Its index.
    pub slot: u16,
    /// Guest address in it.
    pub address: u64,
    /// Length in it.
    pub length: u32,
    /// Flags in it.
    pub flags: u16,
    /// Its next.
    pub next: u16,
    /// Where its buffer is.
    pub state: SlotState,
    /// Token of its buffer.
    pub token: Option<u64>,
    /// Whether it is the one the driver takes next.
    pub free_head: bool,
    /// What the step did.
    pub mark: Mark,
    /// The call that wrote it last.
    pub writer: Option<u64>,
    /// Its own guest address.
    pub at: u64,
}

/// A cache line of descriptors, or many of them folded into a line of text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DescriptorGroup {
    /// A cache line.
    Line {
        /// Bytes from the start of the descriptor table.
        offset: u32,
        /// Its descriptors.
        rows: Vec<DescriptorRow>,
    },
    /// Descriptors that are not drawn.
    Folded {
        /// The first.
        first: u16,
        /// The last.
        last: u16,
        /// How many are held by buffers.
        held: u16,
    },
}

/// A bar of the whole ring: one descriptor, or an equal share of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// Descriptors it stands for.
    pub of: u16,
    /// Of these, held by buffers that the driver wrote or published.
    pub driver: u16,
    /// Of these, held by buffers that the device took or used.
    pub device: u16,
    /// Whether one of them was touched in this step.
    pub touched: bool,
    /// Whether one of them is drawn in full.
    pub drawn: bool,
}

/// The descriptor table as the page draws it; `focus` is a descriptor that the step is about.
pub(super) fn groups(
    moment: &Moment<'_>,
    buffers: &InFlightBuffers,
    marks: &Marks,
    view: &View,
    focus: u16,
) -> Vec<DescriptorGroup> {
    let size = moment.layout().queue_size;
    let lines = size.div_ceil(LINE);
    let shown = lines_shown(lines, view, focus, |slot| marks.ring(Cell::Descriptor(slot)).touched(), size);
    let mut groups = Vec::new();
    let mut line = 0;
    while line < lines {
        let slots = line * LINE..((line + 1) * LINE).min(size);
        if shown.contains(&line) {
            let rows = slots.map(|slot| row(moment, buffers, marks, slot)).collect();
            groups.push(DescriptorGroup::Line { offset: u32::from(line * LINE) * DESCRIPTOR_SIZE, rows });
            line += 1;
            continue;
        }
        let until = shown.iter().copied().filter(|shown| *shown > line).min().unwrap_or(lines);
        let (first, last) = (line * LINE, (until * LINE).min(size) - 1);
        let held = (first..=last).filter(|slot| buffers.holder(*slot).is_some()).count() as u16;
        groups.push(DescriptorGroup::Folded { first, last, held });
        line = until;
    }
    groups
}

/// The cache lines with room: first the selected one, then those the step touched, then their neighbours.
fn lines_shown(lines: u16, view: &View, focus: u16, touched: impl Fn(u16) -> bool, size: u16) -> Vec<u16> {
    let room = if lines <= view.lines { lines } else { view.lines.saturating_sub(1).max(1) };
    let mut shown: Vec<u16> = Vec::new();
    let mut show = |line: u16| {
        if line < lines && shown.len() < usize::from(room) && !shown.contains(&line) {
            shown.push(line);
        }
    };
    if let Some(slot) = view.selected {
        show(slot / LINE);
    }
    show(focus / LINE);
    (0..size).filter(|slot| touched(*slot)).for_each(|slot| show(slot / LINE));
    for distance in 1..lines {
        show((focus / LINE).wrapping_add(distance));
        show((focus / LINE).wrapping_sub(distance));
    }
    shown
}

fn row(moment: &Moment<'_>, buffers: &InFlightBuffers, marks: &Marks, slot: u16) -> DescriptorRow {
    let cell = Cell::Descriptor(slot);
    let at = moment.layout().address(cell);
    let descriptor = moment.descriptor(slot);
    let holder = buffers.holder(slot);
    let driver = moment.state().driver.state();
    DescriptorRow {
        slot,
        address: descriptor.address,
        length: descriptor.length,
        flags: descriptor.flags,
        next: descriptor.next,
        state: holder.map_or(SlotState::Free, |known| known.state),
        token: holder.map(|known| known.buffer.token),
        free_head: driver.free > 0 && driver.free_head == slot,
        mark: marks.ring(cell),
        writer: moment.writer(at),
        at,
    }
}

/// The whole ring, where the groups do not show all of it.
pub(super) fn whole(
    size: u16,
    buffers: &InFlightBuffers,
    marks: &Marks,
    view: &View,
    groups: &[DescriptorGroup],
) -> Vec<Share> {
    if !groups.iter().any(|group| matches!(group, DescriptorGroup::Folded { .. })) {
        return Vec::new();
    }
    let bars = view.bars.clamp(1, size);
    let mut shares = vec![Share::default(); bars.into()];
    let bar_of = |slot: u16| (u32::from(slot) * u32::from(bars) / u32::from(size)) as usize;
    for slot in 0..size {
        let Some(share) = shares.get_mut(bar_of(slot)) else { continue };
        share.of += 1;
        match buffers.holder(slot).map(|known| known.state) {
            None | Some(SlotState::Free) => {}
            Some(SlotState::Written | SlotState::Available) => share.driver += 1,
            Some(SlotState::Taken | SlotState::Used) => share.device += 1,
        }
        share.touched |= marks.ring(Cell::Descriptor(slot)).touched();
    }
    for group in groups {
        let DescriptorGroup::Line { rows, .. } = group else { continue };
        for row in rows {
            if let Some(share) = shares.get_mut(bar_of(row.slot)) {
                share.drawn = true;
            }
        }
    }
    shares
}

/// Names of the flags that are set.
pub(crate) fn flag_names(flags: u16) -> impl Iterator<Item = &'static str> {
    let names = [
        (descriptor_flag::NEXT, "NEXT"),
        (descriptor_flag::WRITE, "WRITE"),
        (descriptor_flag::INDIRECT, "INDIRECT"),
    ];
    names.into_iter().filter(move |(mask, _)| flags & mask != 0).map(|(_, name)| name)
}
