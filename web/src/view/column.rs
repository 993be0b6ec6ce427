//! A column of the picture. On a phone it is a strip that opens and closes.

use yew::{Callback, Children, Html, Properties, classes, function_component, html, use_state_eq};

#[derive(Clone, PartialEq, Properties)]
pub(super) struct ColumnProperties {
    /// Whose: `driver`, `device` or `explanation`.
    pub(super) class: &'static str,
    /// Its heading.
    pub(super) title: &'static str,
    /// What the heading leaves open.
    pub(super) note: String,
    /// What a closed strip still says.
    #[prop_or_default]
    pub(super) summary: Html,
    /// Whether the strip is open at first.
    #[prop_or_default]
    pub(super) open: bool,
    pub(super) children: Children,
}

/// The column.
#[function_component]
pub(super) fn Column(properties: &ColumnProperties) -> Html {
    let open = use_state_eq(|| properties.open);
    let toggle = {
        let (setter, next) = (open.setter(), !*open);
        Callback::from(move |_| setter.set(next))
    };
    html! {
        <section class={classes!("column", properties.class, (*open).then_some("open"))} aria-label={properties.title}>
            <h2>
                <b>{ properties.title }</b><small>{ &properties.note }</small>
                <button class="strip-toggle" onclick={toggle} aria-expanded={open.to_string()}
                    aria-label={format!("{}: more or less", properties.title)}>{ if *open { "▴" } else { "▾" } }</button>
            </h2>
            if !*open { <div class="strip-summary">{ properties.summary.clone() }</div> }
            <div class="inside">{ properties.children.clone() }</div>
        </section>
    }
}
