//! How far a step goes, and how fast they follow each other.

/// What one step is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Granularity {
    /// A call of the driver or the device.
    #[default]
    Call,
    /// A single load, store or fence.
    Access,
}

/// How fast steps follow each other while playing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Speed {
    /// One step in two seconds.
    Half,
    /// One step a second.
    #[default]
    Normal,
    /// Four steps a second.
    Fast,
    /// Twenty steps a second.
    Fastest,
}

impl Speed {
    /// All of them, slow to fast.
    pub const ALL: [Speed; 4] = [Speed::Half, Speed::Normal, Speed::Fast, Speed::Fastest];

    /// Milliseconds from one step to the next.
    pub fn interval(self) -> u32 {
        match self {
            Speed::Half => 2000,
            Speed::Normal => 1000,
            Speed::Fast => 250,
            Speed::Fastest => 50,
        }
    }

    /// What the button says.
    pub fn label(self) -> &'static str {
        match self {
            Speed::Half => "½×",
            Speed::Normal => "1×",
            Speed::Fast => "4×",
            Speed::Fastest => "20×",
        }
    }
}
