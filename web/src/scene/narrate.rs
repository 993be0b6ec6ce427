//! A step in a sentence or two.

use super::{
    buffers::{InFlightBuffers, returned_to_cache, shape, table_name},
    moment::Moment,
};
use ring_core::{indirect::TableStrategy, probe::Event, replay::Outcome, spec::feature, trace::Call};

/// Title and subtitle.
pub(super) fn caption(moment: &Moment<'_>, before: &InFlightBuffers) -> (String, String) {
    let Some(call) = moment.call else {
        return (
            "Before the first call".to_owned(),
            format!("the ring is empty: all {} slots are free", moment.layout().queue_size),
        );
    };
    match call {
        Call::Add { token, .. } => (format!("Driver adds buffer #{token}"), added(moment)),
        Call::Publish => published(moment),
        Call::Notify { sent } => kick(moment, *sent),
        Call::Reap => reaped(moment, before),
        Call::DisableNotifications => (
            "Driver asks for no notifications".to_owned(),
            "a wish only: the device may send one all the same".to_owned(),
        ),
        Call::EnableNotifications => (
            "Driver asks to be notified of the next used buffer".to_owned(),
            "then looks once more: one may have been used meanwhile".to_owned(),
        ),
        Call::Pop => popped(moment, before),
        Call::Complete { head, length }
        | Call::CompleteBatch { head, length }
        | Call::CompletePacked { head, length, .. } => {
            let token = before
                .at(*head)
                .map_or_else(|| format!("at head {head}"), |known| format!("#{}", known.buffer.token));
            (
                format!("Device has used buffer {token}"),
                format!("{}; not yet visible to the driver", wrote(*length)),
            )
        }
        Call::PublishUsed => published_used(moment),
        Call::NotifyUsed { .. } => interrupt(moment),
        Call::Wish { value } => wish(moment, *value),
        Call::Checkpoint { .. } => checkpoint(moment),
        Call::Reset => (
            "Queue reset".to_owned(),
            "both sides start anew on zeroed memory; what was in flight came back to the driver".to_owned(),
        ),
    }
}

fn wrote(length: u32) -> String {
    match length {
        0 => "it wrote nothing into it".to_owned(),
        1 => "it wrote 1 byte into it".to_owned(),
        _ => format!("it wrote {length} bytes into it"),
    }
}

fn plural(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

fn added(moment: &Moment<'_>) -> String {
    let placed = moment.events.iter().find_map(|event| match event {
        Event::Placed { head, descriptors, table } => Some((*head, *descriptors, *table)),
        _ => None,
    });
    let Some((head, descriptors, table)) = placed else { return String::new() };
    match table {
        Some(table) => {
            let count = match moment.call {
                Some(Call::Add { readable, writable, .. }) => readable.len() + writable.len(),
                _ => 0,
            };
            let cached = moment.events.contains(&Event::TableReused(table));
            let kind = if cached { "cached table" } else { "new table" };
            let name = table_name(moment, table.address);
            format!("{count} elements go into {kind} {name}; slot {head} refers to it; not yet published")
        }
        None if descriptors == 1 => format!("1 element goes directly into slot {head}; not yet published"),
        None => format!(
            "{descriptors} elements go directly into {descriptors} slots, from slot {head} on; not yet published"
        ),
    }
}

fn published(moment: &Moment<'_>) -> (String, String) {
    let range = moment.events.iter().find_map(|event| match event {
        Event::Published { from, to } => Some((*from, *to)),
        _ => None,
    });
    let Some((from, to)) = range else {
        return ("Driver has nothing to publish".to_owned(), "avail idx stays".to_owned());
    };
    let count = to.wrapping_sub(from);
    let title = format!("Driver publishes {}", plural(count.into(), "buffer"));
    (
        title,
        format!(
            "avail idx {from} → {to}: the device may now take {}",
            if count == 1 { "it" } else { "them" }
        ),
    )
}

fn kick(moment: &Moment<'_>, sent: bool) -> (String, String) {
    let (seen, event_index) = (seen(moment), moment.config().features.contains(feature::EVENT_IDX));
    let index = moment.before.driver.state().published_index;
    match (sent, event_index) {
        (true, true) => (
            "Driver notifies the device".to_owned(),
            format!("the device asked for a kick once avail idx passes {seen}; it is {index}"),
        ),
        (true, false) => {
            ("Driver notifies the device".to_owned(), "used flags 0: the device wants kicks".to_owned())
        }
        (false, true) => (
            "Driver need not notify".to_owned(),
            format!("the device asked for a kick when avail idx passes {seen}; it is {index}: kick saved"),
        ),
        (false, false) => {
            ("Driver need not notify".to_owned(), format!("used flags {seen}, or nothing new: kick saved"))
        }
    }
}

fn seen(moment: &Moment<'_>) -> u32 {
    match moment.outcome {
        Outcome::Notified { seen, .. } => *seen,
        _ => 0,
    }
}

fn reaped(moment: &Moment<'_>, before: &InFlightBuffers) -> (String, String) {
    let Outcome::Reaped(used) = moment.outcome else {
        return ("Driver looks for used buffers".to_owned(), String::new());
    };
    let known = before.at(used.head);
    let slots = known.map_or(0, |known| known.buffer.descriptors);
    let free = if slots == 1 {
        format!("slot {} is free again", used.head)
    } else {
        format!("{slots} slots are free again")
    };
    let table = known.and_then(|known| known.buffer.table).map(|table| {
        let name = table_name(moment, table.address);
        let to = if returned_to_cache(moment, table.address) { "goes back to the cache" } else { "is freed" };
        format!("; table {name} {to}")
    });
    let wrote = match used.length {
        0 => "the device wrote nothing".to_owned(),
        length => format!("the device wrote {}", plural(length.into(), "byte")),
    };
    (
        format!("Driver gets buffer #{} back", used.token),
        format!("{wrote}; {free}{}", table.unwrap_or_default()),
    )
}

fn popped(moment: &Moment<'_>, before: &InFlightBuffers) -> (String, String) {
    let Outcome::Popped(chain) = moment.outcome else {
        return ("Device looks for available buffers".to_owned(), String::new());
    };
    let known = before.at(chain.head);
    let name =
        known.map_or_else(|| format!("at head {}", chain.head), |known| format!("#{}", known.buffer.token));
    let bytes = known.map(|known| shape(moment, moment.before, known).bytes);
    let through = match chain.table {
        Some(table) => format!(" in table {}", table_name(moment, table.address)),
        None => " in the ring".to_owned(),
    };
    let elements = plural(chain.elements() as u64, "element");
    let bytes = bytes.map(|bytes| format!(", {}", plural(bytes, "byte"))).unwrap_or_default();
    (format!("Device takes buffer {name}"), format!("head {}: {elements}{through}{bytes}", chain.head))
}

fn published_used(moment: &Moment<'_>) -> (String, String) {
    let range = moment.events.iter().find_map(|event| match event {
        Event::UsedPublished { from, to } => Some((*from, *to)),
        _ => None,
    });
    let Some((from, to)) = range else {
        return ("Device has nothing to publish".to_owned(), "used idx stays".to_owned());
    };
    let count = to.wrapping_sub(from);
    let title = format!("Device publishes {} as used", plural(count.into(), "buffer"));
    (
        title,
        format!(
            "used idx {from} → {to}: the driver may now get {} back",
            if count == 1 { "it" } else { "them" }
        ),
    )
}

fn interrupt(moment: &Moment<'_>) -> (String, String) {
    let sent = moment.after.counts.interrupts > moment.before.counts.interrupts;
    let seen = seen(moment);
    let index = moment.before.device.state().published_index;
    let event_index = moment.config().features.contains(feature::EVENT_IDX);
    match (sent, event_index) {
        (true, true) => (
            "Device notifies the driver".to_owned(),
            format!("the driver asked for an interrupt once used idx passes {seen}; it is {index}"),
        ),
        (true, false) => {
            ("Device notifies the driver".to_owned(), "avail flags 0: the driver wants interrupts".to_owned())
        }
        (false, true) => (
            "Device need not notify".to_owned(),
            format!("the driver asked for an interrupt when used idx passes {seen}; it is {index}: saved"),
        ),
        (false, false) => (
            "Device need not notify".to_owned(),
            format!("avail flags {seen}, or nothing new: interrupt saved"),
        ),
    }
}

fn wish(moment: &Moment<'_>, value: u32) -> (String, String) {
    if moment.config().features.contains(feature::EVENT_IDX) {
        return (
            "Device says when it wants a kick".to_owned(),
            format!("avail_event ← {value}: notify when avail idx passes {value}"),
        );
    }
    match value {
        0 => ("Device wants kicks".to_owned(), "used flags ← 0".to_owned()),
        _ => ("Device wants no kicks".to_owned(), format!("used flags ← {value}")),
    }
}

fn checkpoint(moment: &Moment<'_>) -> (String, String) {
    match moment.outcome {
        Outcome::Checkpoint { recorded, replayed } if recorded == replayed => (
            "Checkpoint: memory is as recorded".to_owned(),
            format!("digest {recorded:016x}, recorded and replayed"),
        ),
        Outcome::Checkpoint { recorded, replayed } => (
            "Checkpoint: memory is not as recorded".to_owned(),
            format!("digest recorded {recorded:016x}, replayed {replayed:016x}"),
        ),
        _ => ("Checkpoint".to_owned(), String::new()),
    }
}

/// A heading and the reason for what a call did.
pub(super) fn why(moment: &Moment<'_>) -> Option<(String, String)> {
    let heading = |heading: &str, text: String| Some((heading.to_owned(), text));
    match moment.call? {
        Call::Add { readable, writable, .. } => {
            let count = readable.len() + writable.len();
            let reused = moment.events.iter().any(|event| matches!(event, Event::TableReused(_)));
            let allocated = moment.events.iter().any(|event| matches!(event, Event::TableAllocated(_)));
            match moment.header.strategy {
                _ if !moment.config().features.contains(feature::INDIRECT_DESC) => {
                    heading("Why no table", "INDIRECT_DESC was not negotiated.".to_owned())
                }
                _ if count < 2 => heading("Why no table", "A single element needs one slot either way.".to_owned()),
                TableStrategy::ListCache { threshold } if reused => heading(
                    "Why a table",
                    format!(
                        "{count} ≤ threshold {threshold}, so the cache is asked. It gives the table returned last, the \
                         likeliest to be warm in the CPU cache."
                    ),
                ),
                TableStrategy::ListCache { threshold } if allocated && count <= usize::from(threshold) => heading(
                    "Why a new table",
                    format!(
                        "{count} ≤ threshold {threshold}, but the cache is empty. The new table has {threshold} \
                         entries, so that it can be kept for any buffer up to the threshold."
                    ),
                ),
                TableStrategy::ListCache { threshold } if allocated => heading(
                    "Why a new table",
                    format!("{count} > threshold {threshold}: too large for cached tables. It is freed after use."),
                ),
                _ if reused => heading("Why a table", "One lay idle, of a size that fits.".to_owned()),
                TableStrategy::PlainAllocation if allocated => {
                    heading("Why a table", "Every buffer of more than one element gets a new one.".to_owned())
                }
                _ if allocated => {
                    heading("Why a new table", "None lay idle of a size that fits.".to_owned())
                }
                TableStrategy::Direct => {
                    heading("Why no table", "This strategy always uses ring slots.".to_owned())
                }
                _ => heading("Why no table", "There was no memory for one: ring slots are used.".to_owned()),
            }
        }
        Call::Publish => heading(
            "Why in this order",
            "The device reads the index first. Were it visible before the entries, the device could take what is not \
             written yet."
                .to_owned(),
        ),
        Call::Notify { .. } => heading(
            "Why a full barrier",
            "The driver writes its index and reads the device's wish; the device does the two the other way round. \
             Without a full barrier on both sides each could miss the other."
                .to_owned(),
        ),
        Call::Pop => heading(
            "Why it is read once",
            "The driver could change shared memory at any time. What is checked must be what is used, so each \
             descriptor is read once and copied."
                .to_owned(),
        ),
        Call::Complete { .. } => heading(
            "Why a head and a length",
            "The head names the buffer, since buffers may be used in any order. The length says how many bytes were \
             written: the driver must not look at more."
                .to_owned(),
        ),
        Call::Reap => heading(
            "Why it is checked",
            "The head must name a buffer in flight, and the length must fit it. A device that lies breaks the queue, \
             not the driver."
                .to_owned(),
        ),
        Call::Checkpoint { .. } => heading(
            "What this proves",
            "The recorder hashed the ring and its tables here. The replay ran the same code on memory of its own and \
             hashed the same bytes."
                .to_owned(),
        ),
        _ => None,
    }
}
