//! Many measurements in few numbers.

use super::number::general;
use serde::Serialize;
use std::fmt;

/// Smallest, largest, mean and standard deviation of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// How many values.
    pub count: usize,
    /// Smallest.
    pub minimum: f64,
    /// Largest.
    pub maximum: f64,
    /// Mean.
    pub mean: f64,
    /// Standard deviation of the sample (divisor `count - 1`); 0 for a single value.
    pub standard_deviation: f64,
}

impl Spread {
    /// `None` without values.
    pub fn of(values: &[f64]) -> Option<Self> {
        let count = values.len();
        let (first, rest) = values.split_first()?;
        let minimum = rest.iter().fold(*first, |least, value| least.min(*value));
        let maximum = rest.iter().fold(*first, |most, value| most.max(*value));
        let mean = values.iter().sum::<f64>() / count as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let standard_deviation = if count > 1 { (squares / (count - 1) as f64).sqrt() } else { 0.0 };
        // Rounding must not put the mean outside.
        Some(Spread { count, minimum, maximum, mean: mean.clamp(minimum, maximum), standard_deviation })
    }
}

impl fmt::Display for Spread {
    /// `min-max(mean+/-stddev)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ends = |value: f64| if value.abs() < 1000.0 { general(value, 4) } else { format!("{value:.0}") };
        let text = format!(
            "{}-{}({}+/-{})",
            ends(self.minimum),
            ends(self.maximum),
            general(self.mean, 6),
            general(self.standard_deviation, 2)
        );
        f.pad(&text)
    }
}

/// Values below which 10, 50 and 90 % of a sample lie.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Quantiles {
    /// 10 %.
    pub p10: f64,
    /// Half: the median.
    pub median: f64,
    /// 90 %.
    pub p90: f64,
}

impl Quantiles {
    /// `None` without values. Sorts them.
    pub fn of(values: &mut [f64]) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let last = values.len().checked_sub(1)?;
        let at = |share: usize| {
            let (low, high) = (last * share / 100, (last * share).div_ceil(100));
            let between = (last * share % 100) as f64 / 100.0;
            let (low, high) = (values.get(low)?, values.get(high)?);
            Some(low + (high - low) * between)
        };
        Some(Quantiles { p10: at(10)?, median: at(50)?, p90: at(90)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn prints_as_people_do() {
        let spread = Spread::of(&[746_547.0, 793_084.0, 786_421.0]).unwrap();
        assert_eq!(spread.to_string(), "746547-793084(775351+/-2.5e+04)");
        assert_eq!(Spread::of(&[98.5, 131.0]).unwrap().to_string(), "98.5-131(114.75+/-23)");
        assert_eq!(Spread::of(&[5.0]).unwrap().to_string(), "5-5(5+/-0)");
        assert_eq!(Spread::of(&[]), None);
    }

    #[test]
    fn quantiles_of_a_known_sample() {
        let mut values: Vec<f64> = (0..=10).rev().map(f64::from).collect();
        assert_eq!(Quantiles::of(&mut values), Some(Quantiles { p10: 1.0, median: 5.0, p90: 9.0 }));
        assert_eq!(Quantiles::of(&mut [4.0, 2.0]), Some(Quantiles { p10: 2.2, median: 3.0, p90: 3.8 }));
        assert_eq!(Quantiles::of(&mut []), None);
    }

    proptest! {
        #[test]
        fn everything_lies_between_the_ends(mut values in prop::collection::vec(0.0..1e9_f64, 1..50)) {
            let spread = Spread::of(&values).unwrap();
            let quantiles = Quantiles::of(&mut values).unwrap();
            for value in [spread.mean, quantiles.p10, quantiles.median, quantiles.p90] {
                prop_assert!(spread.minimum <= value && value <= spread.maximum);
            }
            prop_assert!(quantiles.p10 <= quantiles.median && quantiles.median <= quantiles.p90);
            prop_assert!(spread.standard_deviation <= spread.maximum - spread.minimum);
        }
    }
}
