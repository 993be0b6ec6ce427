//! The whole descriptor table as a strip of bars, where only a window of it is drawn.

use crate::{scene::Share, view::Look};
use std::fmt::Write;
use yew::{Html, html};

/// Height of the strip in its own units; a bar is one unit wide.
const HEIGHT: f64 = 20.0;

pub(super) fn whole_ring(look: &Look<'_>) -> Html {
    let shares = &look.scene.whole_ring;
    if shares.is_empty() {
        return html! {};
    }
    let size = look.scene.rings.size;
    // What is held is seen, however small its share.
    let height = |share: &Share, held: u16| {
        let height = f64::from(held) / f64::from(share.of.max(1)) * (HEIGHT - 4.0);
        if held > 0 { height.max(2.5) } else { 0.0 }
    };
    let mut driver = String::new();
    let mut device = String::new();
    let mut touched = String::new();
    for (index, share) in shares.iter().enumerate() {
        let lower = height(share, share.device);
        let upper = height(share, share.driver);
        // Writing to a string does not fail.
        let _ = write!(device, "M{index} {HEIGHT}h.8v-{lower:.1}h-.8z");
        let _ = write!(driver, "M{index} {:.1}h.8v-{upper:.1}h-.8z", HEIGHT - lower);
        if share.touched {
            let _ = write!(touched, "M{:.1} 0h1v{HEIGHT}h-1z", index as f64 - 0.1);
        }
    }
    let first = shares.iter().position(|share| share.drawn).unwrap_or(0);
    let last = shares.iter().rposition(|share| share.drawn).unwrap_or(0);
    let each = size / shares.len() as u16;
    let words = if each <= 1 { "one bar is one slot".to_owned() } else { format!("one bar is {each} slots") };
    html! {
        <div class="whole-ring">
            <svg viewBox={format!("0 0 {} {HEIGHT}", shares.len())} preserveAspectRatio="none" role="img"
                aria-label={format!("The whole ring of {size} slots: {words}; the frame is drawn below")}>
                <rect class="ground" x="0" y={(HEIGHT - 2.0).to_string()} width={shares.len().to_string()} height="2" />
                <path class="device-bars" d={device} /><path class="driver-bars" d={driver} />
                <path class="touched-bars" d={touched} />
                <rect class="window" x={(first as f64 - 0.5).to_string()} y="0.5"
                    width={((last - first) as f64 + 2.0).to_string()} height={(HEIGHT - 1.0).to_string()} />
            </svg>
            <div class="fine"><span>{ "slot 0" }</span><span>{ words }</span><span>{ size - 1 }</span></div>
        </div>
    }
}
