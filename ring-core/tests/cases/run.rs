//! Runs a case's steps: those of a side under test by calls of ours, those of the other by hand on memory.

use super::{
    case::{Case, Check, Step},
    scene::{Scene, equal},
    sides::AnyDevice,
};
use ring_core::{
    Fault, Segment, Side,
    driver::AddError,
    memory::Memory,
    spec::{
        DESCRIPTOR_SIZE, Descriptor, Format, RingCell, descriptor_flag, feature,
        packed::{self, Position},
        split::{self, Cell},
    },
};
use std::collections::BTreeMap;

/// Which sides are ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ours {
    Device,
    Driver,
    Both,
}

/// A side of ours said that the other broke a rule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refusal {
    pub(crate) step: u64,
    pub(crate) side: Side,
    pub(crate) fault: Fault,
}

/// Why a run ended early: the steps came out otherwise than the case says, or a side refused to go on.
enum Stop {
    Mismatch(String),
    Refused(Side, Fault),
}

impl From<String> for Stop {
    fn from(mismatch: String) -> Self {
        Stop::Mismatch(mismatch)
    }
}

/// One descriptor as a case has it, of either format.
#[derive(Clone, Copy)]
struct Element {
    address: u64,
    length: u32,
    flags: u16,
    /// The next descriptor of a split ring, the id in a packed one.
    next_or_id: u16,
}

impl Element {
    fn of(step: &Step, last: &str) -> Check<Element> {
        let (address, length) = (step.get("addr")?, step.get("len")?);
        Ok(Element { address, length, flags: step.get("flags")?, next_or_id: step.get(last)? })
    }

    fn has(self, flag: u16) -> bool {
        self.flags & flag != 0
    }
}

struct Run<'a> {
    scene: &'a mut Scene,
    ours: Ours,
    format: Format,
    /// Ids past the ring's end are a packed driver's choice that only one case is about: the others are renumbered.
    renumber: bool,
    descriptors: BTreeMap<u16, Element>,
    tables: BTreeMap<(u64, u16), Element>,
    /// A packed list whose last descriptor is yet to come.
    list: Vec<(u16, Element)>,
    /// Used buffers that the driver has not got back.
    waiting: u16,
    /// The device before each pop.
    earlier: Vec<AnyDevice>,
}

/// Runs every step, then lets each side of ours look once more for what is there. Returns the refusal that ended it.
pub(crate) fn run(case: &Case, ours: Ours, scene: &mut Scene) -> Check<Option<Refusal>> {
    let format = scene.config.format();
    let mut run = Run {
        scene,
        ours,
        format,
        renumber: case.fault_step.is_none() && case.verdict == "legal-accept",
        descriptors: BTreeMap::new(),
        tables: BTreeMap::new(),
        list: Vec::new(),
        waiting: 0,
        earlier: Vec::new(),
    };
    for stale in case.start_descriptors() {
        run.by_hand(&stale)?;
    }
    for step in &case.steps {
        let ours = run.is_ours(&step.by);
        let done = match (step.by.as_str(), ours) {
            (_, false) => run.by_hand(step).map_err(Stop::from),
            ("driver", true) => run.by_driver(step),
            ("device", true) => run.by_device(step),
            (other, _) => Err(Stop::Mismatch(format!("step {} is by {other}", step.step))),
        };
        if let Some(refusal) = ended(done, step.step)? {
            return Ok(Some(refusal));
        }
    }
    let last = case.steps.last().map_or(0, |step| step.step);
    let looked = run.look_once_more();
    ended(looked, last)
}

fn ended(done: Result<(), Stop>, step: u64) -> Check<Option<Refusal>> {
    match done {
        Ok(()) => Ok(None),
        Err(Stop::Refused(side, fault)) => Ok(Some(Refusal { step, side, fault })),
        Err(Stop::Mismatch(mismatch)) => Err(format!("step {step}: {mismatch}")),
    }
}

fn driver(fault: Fault) -> Stop {
    Stop::Refused(Side::Driver, fault)
}

fn device(fault: Fault) -> Stop {
    Stop::Refused(Side::Device, fault)
}

impl Run<'_> {
    fn is_ours(&self, by: &str) -> bool {
        self.ours == Ours::Both || (by == "driver") == (self.ours == Ours::Driver)
    }

    // ── by hand ──

    fn by_hand(&mut self, step: &Step) -> Check {
        let size = self.scene.config.layout.queue_size;
        match step.op.as_str() {
            "desc" | "desc_tamper" => {
                let element = Element::of(step, "next")?;
                self.write_split(Cell::Descriptor(step.get("index")?), element)
            }
            "table_desc" => {
                let address = step.get::<u64>("table")? + step.get::<u64>("index")? * DESCRIPTOR_SIZE as u64;
                self.write_words(address, split_words(Element::of(step, "next")?))
            }
            "table_desc_packed" => {
                let address = step.get::<u64>("table")? + step.get::<u64>("index")? * DESCRIPTOR_SIZE as u64;
                self.write_words(address, packed_words(Element::of(step, "id")?))
            }
            "packed_desc" => {
                let mut element = Element::of(step, "id")?;
                element.next_or_id = self.id_by_hand(element.next_or_id.into());
                let index: u16 = step.get("index")?;
                self.descriptors.insert(index, element);
                self.write_packed(index, element)
            }
            "avail_ring" => self.scene.store(Cell::AvailableEntry(step.get("slot")?), step.get("head")?),
            "avail_idx" => self.scene.store(Cell::AvailableIndex, step.get("value")?),
            "avail_flags" => self.scene.store(Cell::AvailableFlags, step.get("value")?),
            "used_event" => self.scene.store(Cell::UsedEvent, step.get("value")?),
            "used_flags" => self.scene.store(Cell::UsedFlags, step.get("value")?),
            "avail_event" => self.scene.store(Cell::AvailableEvent, step.get("value")?),
            "used_ring" => {
                let slot: u16 = step.get("slot")?;
                let entry = self.scene.config.layout.address(Cell::UsedEntry(slot % size));
                let id = self.id_named_by_device(step.get("id")?);
                let (memory, length) = (&self.scene.memory, step.get("len")?);
                memory
                    .store_u32(entry, id)
                    .and_then(|()| memory.store_u32(entry + 4, length))
                    .map_err(|error| error.to_string())
            }
            "used_idx" => {
                let old = self.scene.load(Cell::UsedIndex)?;
                let new: u16 = step.get("value")?;
                self.waiting = self.waiting.wrapping_add(new.wrapping_sub(old));
                self.scene.store(Cell::UsedIndex, new)
            }
            "packed_used" => {
                let id = self.id_named_by_device(step.get("id")?) as u16;
                self.waiting += 1;
                let (length, flags) = (step.get("len")?, step.get("flags")?);
                self.write_packed(step.get("index")?, Element { address: 0, length, flags, next_or_id: id })
            }
            "packed_flags_raw" => {
                let index: u16 = step.get("index")?;
                let old = self.descriptors.get(&index).ok_or("flags of a descriptor never written")?;
                let next_or_id = self.id_named_by_device(old.next_or_id.into()) as u16;
                let element = Element { flags: step.get("flags")?, next_or_id, ..*old };
                self.write_packed(index, element)
            }
            "driver_event" | "device_event" => {
                let cell = if step.op == "driver_event" {
                    packed::Cell::DriverEvent
                } else {
                    packed::Cell::DeviceEvent
                };
                let position = Position { index: step.get("off")?, wrap: step.get::<u16>("wrap")? == 1 };
                let event = packed::Event { offset: position.to_bits(), flags: step.get("flags")? };
                let address = self.scene.config.layout.address(cell);
                let stored = self.scene.memory.store_u32(address, event.to_bits());
                stored.map_err(|error| error.to_string())
            }
            // What the other side keeps to itself, or does after the memory is as it is.
            "kick" | "no_kick" | "irq" | "no_irq" | "pop" | "packed_pop" | "packed_rewind" | "get_used"
            | "packed_get_used" | "read" | "barrier" | "note" | "private_state" | "device_reset"
            | "queue_reset" | "queue_reset_done" => Ok(()),
            other => Err(format!("nothing is known of {other}")),
        }
    }

    fn write_split(&self, cell: Cell, element: Element) -> Check {
        self.write_words(cell.address(&self.scene.config.layout), split_words(element))
    }

    fn write_packed(&self, index: u16, element: Element) -> Check {
        let cell = packed::Cell::Descriptor(index);
        self.write_words(cell.address(&self.scene.config.layout), packed_words(element))
    }

    fn write_words(&self, address: u64, words: [u64; 2]) -> Check {
        self.scene.memory.store_words(address, words).map_err(|error| error.to_string())
    }

    fn id_by_hand(&self, id: u32) -> u16 {
        let size = self.scene.config.layout.queue_size as u32;
        (if self.renumber && self.format == Format::Packed && id >= size { id % size } else { id }) as u16
    }

    /// The id that stands for the case's: of the same buffer, or of none in flight.
    fn id_named_by_device(&self, id: u32) -> u32 {
        if let Some(ours) = self.scene.ids.get(&id) {
            return (*ours).into();
        }
        let in_flight = self.scene.driver.in_flight();
        let is_free = |id: &u32| in_flight.iter().all(|(taken, _)| u32::from(*taken) != *id);
        core::iter::once(id).chain(0..).find(is_free).unwrap_or(id)
    }

    // ── our driver ──

    fn by_driver(&mut self, step: &Step) -> Result<(), Stop> {
        match step.op.as_str() {
            "desc" => {
                self.descriptors.insert(step.get("index")?, Element::of(step, "next")?);
            }
            "table_desc" => {
                let place = (step.get("table")?, step.get("index")?);
                self.tables.insert(place, Element::of(step, "next")?);
            }
            "table_desc_packed" => {
                let place = (step.get("table")?, step.get("index")?);
                self.tables.insert(place, Element::of(step, "id")?);
            }
            "avail_ring" => {
                let head: u16 = step.get("head")?;
                let elements = self.split_chain(head)?;
                self.add(head, &elements)?;
            }
            "avail_idx" => {
                self.scene.driver.publish(&self.scene.memory).map_err(driver)?;
                equal("avail.idx", self.scene.load(Cell::AvailableIndex)?, step.get("value")?)?;
            }
            "packed_desc" => {
                let (index, element) = (step.get("index")?, Element::of(step, "id")?);
                self.descriptors.insert(index, element);
                self.list.push((index, element));
                if !element.has(descriptor_flag::NEXT) {
                    self.add_list(element.next_or_id)?;
                }
            }
            "kick" | "no_kick" => {
                let notify = self.scene.driver.notify(&self.scene.memory).map_err(driver)?;
                equal("whether a kick is needed", notify.needed, step.op == "kick")?;
            }
            "avail_flags" | "driver_event" => {
                let value: u16 = match self.format {
                    Format::Split => step.get("value")?,
                    Format::Packed => step.get("flags")?,
                };
                match value {
                    1 => self.scene.driver_disables()?,
                    _ => _ = self.scene.driver_enables()?,
                }
            }
            "used_event" => _ = self.scene.driver_enables()?,
            "get_used" | "packed_get_used" => self.get_used(step)?,
            "read" if self.format == Format::Packed => {
                let waiting = self.scene.driver.pending_used(&self.scene.memory).map_err(driver)?;
                equal("number of used buffers", waiting, self.waiting)?;
            }
            "device_reset" | "queue_reset_done" => {
                self.scene.driver.reset(&self.scene.memory).map_err(driver)?;
                self.scene.ids.clear();
                self.waiting = 0;
            }
            "read" | "barrier" | "note" | "private_state" | "queue_reset" => {}
            other => return Err(Stop::Mismatch(format!("our driver has no {other}"))),
        }
        Ok(())
    }

    /// The elements of the case's chain, those of a table included.
    fn split_chain(&self, head: u16) -> Check<Vec<Element>> {
        let mut elements = Vec::new();
        let mut slot = head;
        loop {
            let element =
                *self.descriptors.get(&slot).ok_or_else(|| format!("descriptor {slot} was never written"))?;
            if element.has(descriptor_flag::INDIRECT) {
                elements.extend(self.table(element)?);
            } else {
                elements.push(element);
            }
            if !element.has(descriptor_flag::NEXT) {
                return Ok(elements);
            }
            slot = element.next_or_id;
        }
    }

    /// Every entry of the table: those of the cases are in sequence.
    fn table(&self, element: Element) -> Check<Vec<Element>> {
        let entries = (element.length / DESCRIPTOR_SIZE) as u16;
        let entry = |index| self.tables.get(&(element.address, index)).copied();
        (0..entries).map(|index| entry(index).ok_or_else(|| format!("no entry {index} of a table"))).collect()
    }

    fn add_list(&mut self, id: u16) -> Result<(), Stop> {
        let list = core::mem::take(&mut self.list);
        let elements = match list.as_slice() {
            [(_, only)] if only.has(descriptor_flag::INDIRECT) => self.table(*only)?,
            _ => list.iter().map(|(_, element)| *element).collect(),
        };
        self.add(id, &elements)?;
        self.scene.driver.publish(&self.scene.memory).map_err(driver)?;
        for (index, element) in list {
            let address = self.scene.config.layout.address(packed::Cell::Descriptor(index));
            let words = self.scene.memory.load_words(address).map_err(|error| error.to_string())?;
            let found = packed::Descriptor::from_words(words).flags;
            equal(&format!("flags of descriptor {index}"), found, element.flags)?;
        }
        Ok(())
    }

    fn add(&mut self, name: u16, elements: &[Element]) -> Result<(), Stop> {
        let segment = |element: &Element| Segment { address: element.address, length: element.length };
        let is_writable = |element: &&Element| element.has(descriptor_flag::WRITE);
        let writable: Vec<_> = elements.iter().filter(is_writable).map(segment).collect();
        let readable: Vec<_> = elements.iter().filter(|element| !is_writable(element)).map(segment).collect();
        let added = self.scene.driver.add(&self.scene.memory, name.into(), &readable, &writable);
        let id = added.map_err(|error| match error {
            AddError::Fault(fault) => driver(fault),
            other => Stop::Mismatch(other.to_string()),
        })?;
        self.scene.ids.insert(name.into(), id);
        Ok(())
    }

    fn get_used(&mut self, step: &Step) -> Result<(), Stop> {
        let name: u64 = step.get("id")?;
        let in_order = self.scene.config.features.contains(feature::IN_ORDER);
        let used = loop {
            let used = self.scene.driver.reap(&self.scene.memory).map_err(driver)?;
            let used = used.ok_or_else(|| "the driver found nothing used".to_string())?;
            // One element may stand for the buffers before it too.
            if used.token == name || !in_order {
                break used;
            }
        };
        self.waiting = 0;
        self.scene.reaped.push(used);
        equal("token", used.token, name)?;
        if let Some(length) = step.find::<u32>("len")? {
            equal("used length", used.length, length)?;
        }
        let after = position_after(step, "last_used_after", "next_used_after", "used_wrap_after")?;
        Ok(equal("next used", self.scene.driver.next_used(), after)?)
    }

    // ── our device ──

    fn by_device(&mut self, step: &Step) -> Result<(), Stop> {
        match step.op.as_str() {
            "pop" | "packed_pop" => self.pop(step)?,
            "packed_rewind" => {
                let buffers: usize = step.get("descs")?;
                let before = self.earlier.len().checked_sub(buffers).map(|index| self.earlier[index].clone());
                self.scene.device = before.ok_or_else(|| "more is rewound than was taken".to_string())?;
                let after = position_after(step, "", "next_avail_after", "avail_wrap_after")?;
                equal("next available", self.scene.device.next_available(), after)?;
            }
            "used_ring" => {
                let slot = split::slot(&self.scene.config.layout, self.scene.device.next_used());
                equal("slot of the used element", slot, step.get("slot")?)?;
                self.complete(step.get("id")?, step.get("len")?)?;
                let entry = self.scene.config.layout.address(Cell::UsedEntry(slot));
                let length = self.scene.memory.load_u32(entry + 4).map_err(|error| error.to_string())?;
                equal("length of the used element", length, step.get("len")?)?;
            }
            "used_idx" => {
                self.publish()?;
                equal("used.idx", self.scene.load(Cell::UsedIndex)?, step.get("value")?)?;
            }
            "packed_used" => {
                let index: u16 = step.get("index")?;
                let slot = Position::from_bits(self.scene.device.next_used()).index;
                equal("slot of the used descriptor", slot, index)?;
                // Without WRITE the length means nothing, and ours is 0.
                let flags: u16 = step.get("flags")?;
                let length = if flags & descriptor_flag::WRITE != 0 { step.get("len")? } else { 0 };
                self.complete(step.get("id")?, length)?;
                self.publish()?;
                let address = self.scene.config.layout.address(packed::Cell::Descriptor(index));
                let words = self.scene.memory.load_words(address).map_err(|error| error.to_string())?;
                equal("flags of the used descriptor", packed::Descriptor::from_words(words).flags, flags)?;
            }
            "irq" | "no_irq" => {
                let notify = self.scene.device.notify(&self.scene.memory).map_err(device)?;
                equal("whether a notification is needed", notify.needed, step.op == "irq")?;
            }
            "device_reset" | "queue_reset_done" => self.scene.device.reset(),
            "read" | "barrier" | "note" | "private_state" => {}
            other => return Err(Stop::Mismatch(format!("our device has no {other}"))),
        }
        Ok(())
    }

    /// The device's id of a buffer that the case names: what our driver chose, or what was written by hand.
    fn id_of(&self, name: u32) -> u16 {
        match self.ours {
            Ours::Both => self.scene.ids.get(&name).copied().unwrap_or(name as u16),
            _ => self.id_by_hand(name),
        }
    }

    fn pop(&mut self, step: &Step) -> Result<(), Stop> {
        self.earlier.push(self.scene.device.clone());
        let popped = self.scene.device.pop(&self.scene.memory).map_err(device)?;
        let chain = popped.ok_or_else(|| "the device found nothing available".to_string())?;
        let name = step.find("head")?.map_or_else(|| step.get("id"), Ok)?;
        equal("head", chain.head, self.id_of(name))?;
        if let Some(segments) = step.segments()? {
            let readable = chain.readable().iter().map(|segment| (segment, false));
            let all = readable.chain(chain.writable().iter().map(|segment| (segment, true)));
            let found = all.map(|(segment, writable)| (segment.address, segment.length.into(), writable));
            equal("elements", found.collect::<Vec<_>>(), segments)?;
        }
        let after = position_after(step, "last_avail_after", "next_avail_after", "avail_wrap_after")?;
        Ok(equal("next available", self.scene.device.next_available(), after)?)
    }

    fn complete(&mut self, name: u32, length: u32) -> Result<(), Stop> {
        let id = self.id_of(name);
        let scene = &mut *self.scene;
        if scene.config.features.contains(feature::IN_ORDER) {
            scene.device.complete_batch(&scene.memory, id, length)
        } else {
            scene.device.complete(&scene.memory, id, length)
        }
        .map_err(device)
    }

    fn publish(&mut self) -> Result<(), Stop> {
        self.waiting += 1;
        self.scene.device.publish(&self.scene.memory).map_err(device)
    }

    // ── at the end ──

    /// Whatever is there to be found, is found now; and each wish is read once.
    fn look_once_more(&mut self) -> Result<(), Stop> {
        let scene = &mut *self.scene;
        if self.ours != Ours::Driver {
            while let Some(chain) = scene.device.pop(&scene.memory).map_err(device)? {
                scene.popped.push(chain);
            }
            scene.device.notify(&scene.memory).map_err(device)?;
            if self.format == Format::Split {
                equal("next available", scene.device.next_available(), scene.load(Cell::AvailableIndex)?)?;
            }
        }
        if self.ours != Ours::Device {
            while scene.driver.reap(&scene.memory).map_err(driver)?.is_some() {}
            scene.driver.notify(&scene.memory).map_err(driver)?;
        }
        Ok(())
    }
}

fn position_after(step: &Step, split: &str, index: &str, wrap: &str) -> Check<u16> {
    if let Some(index) = step.find::<u16>(index)? {
        return Ok(Position { index, wrap: step.get::<u16>(wrap)? == 1 }.to_bits());
    }
    step.get(split)
}

fn split_words(element: Element) -> [u64; 2] {
    let Element { address, length, flags, next_or_id } = element;
    Descriptor { address, length, flags, next: next_or_id }.to_words()
}

fn packed_words(element: Element) -> [u64; 2] {
    let Element { address, length, flags, next_or_id } = element;
    packed::Descriptor { address, length, id: next_or_id, flags }.to_words()
}
