//! From reset to FEATURES_OK (virtio 1.2, 3.1.1 steps 1 to 6).

use super::{
    BringUpError, CommonConfig,
    status::{ACKNOWLEDGE, DRIVER, FEATURES_OK},
};
use crate::bus::Bus;
use ring_core::spec::Features;
use std::time::{Duration, Instant};

/// What the two sides said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Negotiated {
    /// What the device offers.
    pub offered: Features,
    /// What was asked for and agreed on.
    pub accepted: Features,
}

/// Resets the device and agrees on exactly the features of `wanted`. `name` names a set of features for people.
pub fn negotiate<B: Bus>(
    config: &mut CommonConfig<'_, B>,
    wanted: Features,
    name: impl Fn(Features) -> String,
    timeout: Duration,
) -> Result<Negotiated, BringUpError> {
    config.set_status(0)?;
    let start = Instant::now();
    // 4.1.4.3.2: the reset is over when the byte reads 0.
    loop {
        let status = config.status()?;
        if status.0 == 0 {
            break;
        }
        if start.elapsed() > timeout {
            return Err(BringUpError::NotReset { waited: timeout, status });
        }
    }
    config.set_status(ACKNOWLEDGE)?;
    config.set_status(ACKNOWLEDGE | DRIVER)?;
    let offered = config.device_features()?;
    let missing = Features(wanted.0 & !offered.0);
    if missing.0 != 0 {
        return Err(BringUpError::NotOffered { missing: name(missing), offered: name(offered) });
    }
    config.set_driver_features(wanted)?;
    config.set_status(ACKNOWLEDGE | DRIVER | FEATURES_OK)?;
    let status = config.status()?;
    if !status.contains(FEATURES_OK) {
        return Err(BringUpError::Refused { asked: name(wanted), status });
    }
    Ok(Negotiated { offered, accepted: wanted })
}
