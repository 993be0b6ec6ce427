//! Promises that both sides make.

use ring_core::{Fault, Side, fault::Place, spec::Format};

/// What is known of a side's fault.
#[derive(Default)]
pub(crate) struct Broken(Option<Fault>);

impl Broken {
    pub(crate) fn is_broken(&self) -> bool {
        self.0.is_some()
    }

    /// After every call: what it failed with, if it did, and what the side itself says of its state. A broken queue
    /// says so in every call, always with the same fault, and touches no memory.
    pub(crate) fn check(
        &mut self,
        failed: Option<Fault>,
        broken: Option<Fault>,
        accesses: u32,
        format: Format,
        side: Side,
    ) {
        if let Some(first) = self.0 {
            assert_eq!(failed, Some(first), "a broken queue says why in every call");
            assert_eq!(broken, Some(first), "a broken queue stays broken");
            assert_eq!(accesses, 0, "a broken queue touches no memory");
            return;
        }
        let Some(fault) = failed else {
            assert_eq!(broken, None, "a call that broke the queue says so");
            return;
        };
        if let Fault::Rule { place: Place::Call, .. } = fault {
            assert_eq!(broken, None, "the caller's mistake does not break the queue: {fault}");
            return;
        }
        assert_eq!(broken, Some(fault), "a fault of the peer breaks the queue");
        self.0 = broken;
        well_formed(fault, format, side);
    }

    /// After a reset.
    pub(crate) fn forget(&mut self) {
        self.0 = None;
    }
}

/// The fault names a rule of this format that the peer of `side` must keep, and says it in words.
fn well_formed(fault: Fault, format: Format, side: Side) {
    let Fault::Rule { rule, expected, .. } = fault else {
        assert_eq!(fault.rule_id(), None);
        return;
    };
    let id = rule.id();
    assert_eq!(fault.rule_id(), Some(id));
    let (of, name) = id.split_once('-').unwrap_or_default();
    let other = if format == Format::Split { "P" } else { "S" };
    assert!(matches!(of, "B" | "S" | "P") && of != other, "{id} on a {format} ring");
    assert!(!name.is_empty() && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'-'), "{id}");
    use ring_core::spec::Obliged;
    let peers = if side == Side::Driver { Obliged::Device } else { Obliged::Driver };
    assert!(rule.obliged() == peers || rule.obliged() == Obliged::Both, "{id} does not bind the peer");
    let text = fault.to_string();
    assert!(text.starts_with(id) && text.contains(expected), "{text}");
}
