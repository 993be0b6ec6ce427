//! Text with emphasis, and numbers as people read them.

use crate::scene::{Change, Mark};
use std::fmt::Display;
use yew::{Html, html};

/// Text in which what stands between asterisks is emphasised.
pub(super) fn rich(text: &str) -> Html {
    let parts = text.split('*').enumerate();
    parts
        .map(|(index, part)| {
            if index % 2 == 1 {
                html! { <b>{ part.to_owned() }</b> }
            } else {
                html! { part.to_owned() }
            }
        })
        .collect()
}

/// The same without the asterisks.
pub(super) fn plain(text: &str) -> String {
    text.replace('*', "")
}

/// A number with thin spaces between thousands.
pub(super) fn number(value: u64) -> String {
    let digits = value.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push('\u{2009}');
        }
        grouped.push(digit);
    }
    grouped
}

/// `before → after` if it changed.
pub(super) fn change<T: Display + PartialEq>(change: &Change<T>) -> Html {
    if change.changed() {
        html! { <span class="followed">{ format!("{} → {}", change.before, change.after) }</span> }
    } else {
        html! { { change.after.to_string() } }
    }
}

/// The number of a deed: filled if it wrote, a ring if it only read.
pub(super) fn order(mark: Mark) -> Html {
    match mark.order {
        Some(order) => order_number(order.into(), mark.written),
        None => html! {},
    }
}

/// The same from its parts.
pub(super) fn order_number(order: u32, writes: bool) -> Html {
    let class = if writes { "order" } else { "order reading" };
    html! { <span {class}>{ order }</span> }
}

/// The class of what a step did to a cell.
pub(super) fn mark_class(mark: Mark) -> Option<&'static str> {
    match mark {
        Mark { written: true, .. } => Some("changed"),
        Mark { read: true, .. } => Some("read"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn thousands_are_set_apart() {
        let numbers =
            [(0, "0"), (999, "999"), (1000, "1\u{2009}000"), (12_345_678, "12\u{2009}345\u{2009}678")];
        for (value, expected) in numbers {
            assert_eq!(super::number(value), expected);
        }
    }
}
