//! Shared memory: descriptors with their tables, and both rings.

mod descriptors;
mod flags;
mod rings;
mod tables;
mod whole_ring;
mod wires;

use super::{Look, icon::state_icon};
use crate::scene::SlotState;
use wires::Wires;
use yew::{Html, html};

/// What both sides see.
pub fn memory(look: &Look<'_>) -> Html {
    let scene = look.scene;
    let size = scene.rings.size;
    html! {
        <section class="column memory" aria-label="Shared memory">
            <h2>
                <b>{ "Shared memory" }</b>
                <small>
                    { format!("what both sides see · split ring, {size} slots") }
                    <span class="wide">{ ", 4 descriptors per 64-byte cache line" }</span>
                </small>
            </h2>
            <div class="inside">
                { whole_ring::whole_ring(look) }
                <div class="table-area" id="table-area">
                    <div class="beside">
                        { legend() }
                        { tables::tables(look) }
                    </div>
                    { descriptors::descriptors(look) }
                    <Wires cursor={scene.cursor} queue={scene.queue} wires={wires::wires(scene)} />
                </div>
                { rings::rings(look) }
            </div>
        </section>
    }
}

fn legend() -> Html {
    let entry =
        |state: SlotState, words: &'static str| html! { <>{ state_icon(state) }<span>{ words }</span></> };
    html! {
        <div class="legend" aria-hidden="true">
            { entry(SlotState::Free, "free") }
            { entry(SlotState::Written, "written") }
            { entry(SlotState::Available, "available") }
            { entry(SlotState::Taken, "taken") }
            { entry(SlotState::Used, "used, not yet seen") }
        </div>
    }
}
