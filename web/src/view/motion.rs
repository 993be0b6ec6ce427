//! What moved from where to where: one thing travels at most, and at rest nothing of it is left but its arrow.

use crate::scene::{Cursor, Scene, Travel};
use std::rc::Rc;
use web_sys::{DomRect, Element};
use yew::{Html, Properties, function_component, html, use_effect_with, use_node_ref, use_state_eq};

#[derive(Clone, PartialEq, Properties)]
pub(super) struct MotionProperties {
    /// The scene that was reached.
    pub(super) scene: Rc<Scene>,
    /// Forward by one step, back by one step, or a jump.
    pub(super) direction: Direction,
}

/// How the scene was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Forward,
    Back,
    Jump,
}

/// The way of what travels, in the stage's coordinates.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Way {
    from: (f64, f64),
    to: (f64, f64),
    /// Drawn as an arrow that stays.
    arrow: bool,
}

/// Draws the arrow of a table's travel, and lets what moves travel along it.
#[function_component]
pub(super) fn Motion(properties: &MotionProperties) -> Html {
    let node = use_node_ref();
    let way = use_state_eq(|| None::<(Cursor, Way)>);
    {
        let (node, setter) = (node.clone(), way.setter());
        use_effect_with(properties.clone(), move |properties| {
            let stage = node.cast::<Element>().and_then(|node| node.parent_element());
            let way = stage.and_then(|stage| self::way(&stage, &properties.scene));
            setter.set(way.map(|way| (properties.scene.cursor, way)));
        });
    }
    let cursor = properties.scene.cursor;
    let key = format!("{} {:?}", cursor.position, cursor.access);
    html! {
        <div class="motion" ref={node} aria-hidden="true">
            if let Some((_, way)) = way.filter(|(of, _)| *of == cursor) {
                if way.arrow {
                    <svg><path class="travel-arrow" d={format!("M{:.1} {:.1}L{:.1} {:.1}", way.from.0, way.from.1, way.to.0, way.to.1)} marker-end="url(#arrow-ink)" /></svg>
                }
                if properties.direction == Direction::Forward {
                    <span {key} class="traveller" style={format!(
                        "left:{:.1}px;top:{:.1}px;--from-x:{:.1}px;--from-y:{:.1}px",
                        way.to.0, way.to.1, way.from.0 - way.to.0, way.from.1 - way.to.1
                    )}>{ name(properties.scene.travel) }</span>
                }
            }
        </div>
    }
}

fn name(travel: Option<Travel>) -> &'static str {
    match travel {
        Some(Travel::TableFromCache(_) | Travel::TableToCache(_)) => "table",
        Some(Travel::Kick) => "kick",
        Some(Travel::Interrupt) => "interrupt",
        _ => "buffer",
    }
}

fn way(stage: &Element, scene: &Scene) -> Option<Way> {
    let travel = scene.travel?;
    let find = |selector: &str| {
        let rect = stage.query_selector(selector).ok().flatten()?.get_bounding_client_rect();
        // What is folded away has no size.
        (rect.width() > 0.0).then_some(rect)
    };
    let ground = stage.get_bounding_client_rect();
    let middle = |rect: &DomRect| {
        (rect.left() + rect.width() / 2.0 - ground.left(), rect.top() + rect.height() / 2.0 - ground.top())
    };
    let between = |from: &str, to: &str| {
        let (from, to) = (find(from)?, find(to)?);
        Some(Way { from: middle(&from), to: middle(&to), arrow: false })
    };
    match travel {
        Travel::TableFromCache(table) => {
            let from = find("[data-taken]")?;
            let to = find(&format!("[data-table=\"{table}\"]"))?;
            let start = (from.right() - ground.left(), from.top() + from.height() / 2.0 - ground.top());
            let end = (to.left() - ground.left() - 2.0, to.top() + 9.0 - ground.top());
            // On a phone the table stands below, and an arrow would cross what is between.
            Some(Way { from: start, to: end, arrow: end.0 > start.0 })
        }
        Travel::TableToCache(table) => {
            between("tr.changed, tr.read, [data-used].read", &format!("[data-idle=\"{table}\"]"))
        }
        Travel::BufferToDevice(slot) => {
            between(&format!("[data-available=\"{slot}\"]"), "[data-working] .buffer.followed")
        }
        Travel::BufferToUsed(slot) => between("[data-working] h3", &format!("[data-used=\"{slot}\"]")),
        Travel::BufferToDriver(slot) => between(&format!("[data-used=\"{slot}\"]"), "[data-last-used]"),
        Travel::Kick => between(".driver h2", ".device h2"),
        Travel::Interrupt => between(".device h2", ".driver h2"),
    }
}
