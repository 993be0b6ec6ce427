//! The clock of all measurements: the CPU's time stamp counter where there is one, nanoseconds elsewhere.

use std::{
    sync::OnceLock,
    time::{Duration, Instant},
};

/// What one tick is.
pub const UNIT: &str = if cfg!(target_arch = "x86_64") { "cycles" } else { "ns" };

/// How long the counter's rate is measured.
const CALIBRATION: Duration = Duration::from_millis(20);

/// Ticks since some moment in the past.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn now() -> u64 {
    crate::system::time_stamp_counter()
}

/// Ticks since some moment in the past.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub fn now() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// Ticks in a second: the counter's rate, measured once against the system's clock.
pub fn ticks_per_second() -> u64 {
    static RATE: OnceLock<u64> = OnceLock::new();
    *RATE.get_or_init(|| {
        if !cfg!(target_arch = "x86_64") {
            return 1_000_000_000;
        }
        let (start, first) = (Instant::now(), now());
        let mut elapsed = start.elapsed();
        while elapsed < CALIBRATION {
            std::hint::spin_loop();
            elapsed = start.elapsed();
        }
        (now().wrapping_sub(first) as f64 / elapsed.as_secs_f64()).round() as u64
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_agrees_with_the_systems_clock() {
        let rate = ticks_per_second() as f64;
        let (start, first) = (Instant::now(), now());
        while start.elapsed() < Duration::from_millis(50) {}
        let ticks = now() - first;
        let seconds = start.elapsed().as_secs_f64();
        assert!(
            (ticks as f64 / rate / seconds - 1.0).abs() < 0.05,
            "{ticks} ticks at {rate}/s in {seconds} s"
        );
    }
}
