//! A strategy's parameters, checked.

use core::{fmt, ops::RangeInclusive};

/// A parameter that no queue of this size can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidParameter {
    /// Its name, as in [`Strategy`](super::Strategy).
    pub parameter: &'static str,
    /// What was given.
    pub value: u16,
    /// The smallest that is possible.
    pub least: u16,
    /// The largest that is possible.
    pub most: u16,
    /// What the largest is.
    pub because: &'static str,
}

/// That `value` lies in `range`, whose end is `because`.
pub(super) fn check(
    parameter: &'static str,
    value: u16,
    range: RangeInclusive<u16>,
    because: &'static str,
) -> Result<(), InvalidParameter> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(InvalidParameter { parameter, value, least: *range.start(), most: *range.end(), because })
}

impl fmt::Display for InvalidParameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let InvalidParameter { parameter, value, least, most, because } = self;
        write!(f, "the table strategy's {parameter} is {value}, expected {least} to {most}, {because}")
    }
}

impl core::error::Error for InvalidParameter {}
