//! Light and dark: as the system says, or as the reader chose; the choice is remembered in this browser.

use gloo_storage::{LocalStorage, Storage};

/// Under which name the choice is kept.
const KEY: &str = "virtqueue-lab.theme";

/// What the reader chose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Theme {
    #[default]
    System,
    Light,
    Dark,
}

impl Theme {
    /// The choice of last time.
    pub(super) fn remembered() -> Theme {
        // A browser may keep nothing: then the system decides.
        match LocalStorage::get::<String>(KEY).as_deref() {
            Ok("light") => Theme::Light,
            Ok("dark") => Theme::Dark,
            _ => Theme::System,
        }
    }

    /// The one that a press of the button leads to.
    pub(super) fn next(self) -> Theme {
        match self {
            Theme::System => Theme::Light,
            Theme::Light => Theme::Dark,
            Theme::Dark => Theme::System,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Theme::System => "as the system",
            Theme::Light => "light",
            Theme::Dark => "dark",
        }
    }

    /// Shows it, and remembers it.
    pub(super) fn apply(self) {
        let root = web_sys::window()
            .and_then(|window| window.document())
            .and_then(|document| document.document_element());
        let Some(root) = root else { return };
        // Neither a missing attribute nor a browser that keeps nothing is worth telling.
        let _ = match self {
            Theme::System => root.remove_attribute("data-theme"),
            theme => root.set_attribute("data-theme", theme.name()),
        };
        match self {
            Theme::System => LocalStorage::delete(KEY),
            theme => {
                let _ = LocalStorage::set(KEY, theme.name());
            }
        }
    }
}
