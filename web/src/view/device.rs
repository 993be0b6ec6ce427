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
                        <div><dt>{ "next avail to take" }</dt><dd>{ change(&device.last_available) }</dd></div>
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
                        <div>{ kick(device) }</div>
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

fn kick(device: &DeviceScene) -> Html {
    let owed = html! { <span class="followed">{ "It just did: owed by the driver." }</span> };
    match (device.event_index, device.kick_wish.after) {
        (true, wish) => html! {
            <>
                <b>{ "Kick wanted" }</b>{ format!(" when avail idx passes {wish}. ") }
                if device.kick_owed { { owed } }
            </>
        },
        (false, 0) => html! {
            <><b>{ "Kick wanted" }</b>{ " for every published buffer. " }if device.kick_owed { { owed } }</>
        },
        _ => html! { <><b>{ "No kick wanted" }</b>{ ": used flags say so." }</> },
    }
}

fn interrupt(device: &DeviceScene) -> Html {
    let owed = html! { <span class="followed">{ "It just did: owed by the device." }</span> };
    match (device.event_index, device.interrupt_wish.after) {
        (true, wish) => html! {
            <>
                <b>{ "Interrupt wanted" }</b>{ format!(" when used idx passes {wish}. ") }
                if device.interrupt_owed { { owed } }
            </>
        },
        (false, 0) => html! {
            <><b>{ "Interrupt wanted" }</b>{ " for every used buffer. " }if device.interrupt_owed { { owed } }</>
        },
        _ => html! { <><b>{ "No interrupt wanted" }</b>{ ": avail flags say so." }</> },
    }
}
