//! The device's column.

use super::{Look, column::Column, driver::buffers, icon::icon, text::change};
use crate::scene::{Buffer, DeviceScene};
use yew::{Html, html};

/// The device's private state.
pub fn device(look: &Look<'_>) -> Html {
    let device = &look.scene.device;
    let driver = &look.scene.driver;
    let bytes = |buffer: &Buffer| format!("{} B", buffer.bytes);
    let place = |buffer: &Buffer| match &buffer.table {
        Some(table) => format!("slot {} · {table}", buffer.head),
        None => format!("slot {}", buffer.head),
    };
    html! {
        <Column class="device" title="Device" note="its private state" summary={summary(device)}>
                <div class="part">
                    <h3>{ "Counters" }</h3>
                    <dl class="pairs">
                        <div><dt>{ "next to take" }</dt><dd>{ change(&device.last_available) }</dd></div>
                        <div><dt>{ "next used idx" }</dt><dd>{ change(&device.used_index) }</dd></div>
                        <div class="wide"><dt>{ "published idx" }</dt><dd>{ change(&device.published_index) }</dd></div>
                    </dl>
                </div>
                <div class="part wide">
                    <h3>{ "Offered to it" }<i>{ device.offered.count }</i></h3>
                    { buffers(look, &device.offered, place, bytes) }
                </div>
                <div class="part" data-working="">
                    <h3>{ "Taken, working on" }<i>{ device.taken.count }</i></h3>
                    { buffers(look, &device.taken, place, bytes) }
                </div>
                <div class="part wide">
                    <h3>{ "Notifications" }</h3>
                    <div class="note">
                        <span class="device-hue">{ icon("bell") }</span>
                        <div>{ kick(device, driver.published_index.after) }</div>
                    </div>
                    <div class="note">
                        <span class="driver-hue">{ icon("bell") }</span>
                        <div>{ interrupt(device) }</div>
                    </div>
                    <dl class="pairs">
                        <div><dt>{ "kicks / saved" }</dt><dd>{ change(&driver.kicks) }{ " / " }{ change(&driver.kicks_saved) }</dd></div>
                        <div><dt>{ "interrupts / saved" }</dt><dd>{ change(&device.interrupts) }{ " / " }{ change(&device.interrupts_saved) }</dd></div>
                    </dl>
                </div>
        </Column>
    }
}

/// What the step needs of it, in a line.
fn summary(device: &DeviceScene) -> Html {
    html! {
        <div>
            { format!("works on {} · offered {} · next to take ", device.taken.count, device.offered.count) }
            { change(&device.last_available) }
        </div>
    }
}

/// What a side wants to be told by a notification.
struct Wish {
    what: &'static str,
    counter: &'static str,
    flags: &'static str,
    owed_by: &'static str,
    event_index: bool,
    /// The event index, or the flags.
    value: u16,
    /// The counter as published.
    index: u16,
    owed: bool,
}

fn kick(device: &DeviceScene, published: u16) -> Html {
    wish(&Wish {
        what: "kick",
        counter: "avail idx",
        flags: "used flags",
        owed_by: "driver",
        event_index: device.event_index,
        value: device.kick_wish.after,
        index: published,
        owed: device.kick_owed,
    })
}

fn interrupt(device: &DeviceScene) -> Html {
    wish(&Wish {
        what: "interrupt",
        counter: "used idx",
        flags: "avail flags",
        owed_by: "device",
        event_index: device.event_index,
        value: device.interrupt_wish.after,
        index: device.published_index.after,
        owed: device.interrupt_owed,
    })
}

fn wish(wish: &Wish) -> Html {
    let Wish { what, counter, flags, owed_by, event_index, value, index, owed } = *wish;
    // Nearer behind the counter than ahead of it: it was passed, and means nothing until the counter has gone round.
    let passed = event_index && !owed && (1..0x8000).contains(&index.wrapping_sub(value));
    let (wanted, when) = match (event_index, value) {
        (true, _) if passed => (false, format!(": {counter} passed {value} before.")),
        (true, _) => (true, format!(" when {counter} passes {value}. ")),
        (false, 0) => (true, format!(" whenever {counter} moves. ")),
        (false, _) => (false, format!(": {flags} say so.")),
    };
    let wanted = if wanted {
        format!("{}{} wanted", what[..1].to_uppercase(), &what[1..])
    } else {
        format!("No {what} wanted")
    };
    html! {
        <>
            <b>{ wanted }</b>{ when }
            if owed { <span class="followed">{ format!("It just did: owed by the {owed_by}.") }</span> }
        </>
    }
}
