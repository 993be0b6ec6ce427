//! Wires from descriptors to their tables, computed from where both stand.

use crate::scene::{Cursor, Scene};
use gloo_events::EventListener;
use web_sys::Element;
use yew::{Html, Properties, function_component, html, use_effect_with, use_node_ref, use_state_eq};

/// A wire to draw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wire {
    slot: u16,
    table: u64,
    changed: bool,
}

/// The wires of a scene.
pub(super) fn wires(scene: &Scene) -> Vec<Wire> {
    let written = |slot: u16| scene.rows().any(|row| row.slot == slot && row.mark.written);
    let wire = |card: &crate::scene::TableCard| Wire {
        slot: card.slot,
        table: card.table,
        changed: written(card.slot),
    };
    scene.tables.cards.iter().filter(|card| card.refers).map(wire).collect()
}

#[derive(Clone, PartialEq, Properties)]
pub(super) struct WiresProperties {
    pub(super) cursor: Cursor,
    pub(super) queue: u16,
    pub(super) wires: Vec<Wire>,
}

/// Draws them once the rest is laid out, and again when the window changes.
#[function_component]
pub(super) fn Wires(properties: &WiresProperties) -> Html {
    let node = use_node_ref();
    let paths = use_state_eq(Vec::new);
    let resized = use_state_eq(|| 0_u32);
    {
        let resized = resized.setter();
        use_effect_with((), move |()| {
            let Some(window) = web_sys::window() else { return Box::new(|| ()) as Box<dyn FnOnce()> };
            let mut count = 0;
            let listener = EventListener::new(&window, "resize", move |_| {
                count += 1;
                resized.set(count);
            });
            Box::new(move || drop(listener))
        });
    }
    {
        let (node, setter) = (node.clone(), paths.setter());
        use_effect_with((properties.clone(), *resized), move |(properties, _)| {
            let Some(svg) = node.cast::<Element>() else { return };
            let Some(area) = svg.parent_element() else { return };
            let lines = properties.wires.iter().enumerate();
            setter.set(lines.filter_map(|(index, wire)| line(&area, index, wire)).collect());
        });
    }
    html! {
        <svg class="wires" ref={node} aria-hidden="true">
            { for paths.iter().map(|(path, changed): &(String, bool)| {
                let (class, end) = if *changed { ("wire changed-wire", "url(#arrow-ink)") } else { ("wire", "url(#arrow-line)") };
                html! { <path {class} d={path.clone()} marker-end={end} /> }
            }) }
        </svg>
    }
}

/// The path from a descriptor's left edge to its table's right edge, within the area's rectangle.
fn line(area: &Element, index: usize, wire: &Wire) -> Option<(String, bool)> {
    let find = |selector: String| area.query_selector(&selector).ok().flatten();
    let slot = find(format!("tr[data-slot=\"{}\"] td:nth-child(2)", wire.slot))?.get_bounding_client_rect();
    let table = find(format!("[data-table=\"{}\"]", wire.table))?.get_bounding_client_rect();
    let ground = area.get_bounding_client_rect();
    let from = (slot.left() - ground.left(), slot.top() + slot.height() / 2.0 - ground.top());
    let to = (table.right() - ground.left() + 4.0, table.top() + 9.0 - ground.top());
    // Wires beside each other turn at different places.
    let turn = to.0 + 8.0 + (index % 4) as f64 * 5.0;
    let path = format!("M{:.1} {:.1}H{turn:.1}V{:.1}H{:.1}", from.0, from.1, to.1, to.0);
    (from.0 > to.0).then_some((path, wire.changed))
}
