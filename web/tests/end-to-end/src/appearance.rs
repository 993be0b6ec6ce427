//! How large the browser's window is and what the person behind it prefers.

/// The colour scheme that the system asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Dark text on light ground.
    Light,
    /// Light text on dark ground.
    Dark,
}

impl Scheme {
    /// The value of the media feature `prefers-color-scheme`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }
}

/// Window size in CSS pixels and the person's preferences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appearance {
    /// Width of the page.
    pub width: u32,
    /// Height of the page.
    pub height: u32,
    /// Preferred colours.
    pub scheme: Scheme,
    /// Whether the person asked for as little motion as possible.
    pub reduced_motion: bool,
}

impl Appearance {
    /// A small laptop: 1280 by 720, light.
    pub const LAPTOP: Self = Self { width: 1280, height: 720, scheme: Scheme::Light, reduced_motion: true };

    /// A telephone held upright: 390 by 844, light.
    pub const PHONE: Self = Self { width: 390, height: 844, scheme: Scheme::Light, reduced_motion: true };

    /// The same window in another colour scheme.
    #[must_use]
    pub const fn with(self, scheme: Scheme) -> Self {
        Self { scheme, ..self }
    }
}
