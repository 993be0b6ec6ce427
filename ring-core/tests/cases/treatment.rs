//! What is asserted of each case, by its name.

use super::{
    accepted::*,
    case::{Case, Check},
    layouts, never_lost as lost, own_device as device, own_driver as driver,
    run::Ours,
    scene::Scene,
};

/// What our sides do in a case.
#[derive(Clone, Copy)]
pub(crate) enum Treatment {
    /// Our device refuses what the driver wrote by hand, by this rule.
    DeviceRefuses(&'static str),
    /// Our driver refuses what the device wrote by hand, by this rule.
    DriverRefuses(&'static str),
    /// Nobody complains: our device, our driver, and both together; and then this holds.
    Accepted(fn(&Case, &Scene, Ours) -> Check),
    /// Both sides ours, the same sequence: nothing is lost.
    NotLost(fn(&Case) -> Check),
    /// Decided by more than the steps, like configuration, memory or a second fault: who refuses, and by what.
    RefusedBy(&'static str, &'static str, fn(&Case) -> Check),
    /// The other side cannot notice, for this reason; ours does not commit the fault.
    NotObservable(&'static str, fn(&Case) -> Check),
}

use Treatment::*;

const PRIVATE: &str = "a cursor is private";
const SILENT: &str = "silence cannot be seen";
const STALE: &str = "a stale entry looks like a new one";

/// Every case.
pub(crate) const TREATMENTS: &[(&str, Treatment)] = &[
    ("split-avail-idx-modulo-queue-size", DeviceRefuses("S-AVAIL-MONO")),
    ("split-avail-idx-mod-65535", NotObservable(STALE, driver::counts_modulo_2_to_16)),
    ("split-driver-counter-overflow-panic", Accepted(all_came_back)),
    ("split-empty-vs-full-modulo", Accepted(full_is_not_empty)),
    ("split-avail-idx-jump-over-size", DeviceRefuses("S-AVAIL-MONO")),
    ("split-avail-head-out-of-range", DeviceRefuses("S-HEAD")),
    ("split-desc-loop", DeviceRefuses("S-NEXT")),
    // The text knows no ban: ours accepts, as "some devices" do.
    ("split-zero-length-descriptor", Accepted(as_it_stands)),
    ("split-table-index-without-wrap", DeviceRefuses("B-ORDER-RW")),
    (
        "split-device-uses-avail-idx-as-cursor",
        NotObservable("buffers may be used in any order", device::takes_buffers_from_its_own_cursor),
    ),
    (
        "split-irq-before-used-idx",
        NotObservable("a notification with nothing new is harmless", device::notifies_after_the_index),
    ),
    ("split-device-reads-past-avail-idx", NotObservable(PRIVATE, device::stops_at_the_available_index)),
    ("split-mismatched-queue-size", NotObservable(STALE, driver::has_the_size_of_the_configuration)),
    (
        "split-legacy-ring-layout-shrunk",
        NotObservable("an empty ring is legal", driver::available_ring_in_one_place),
    ),
    (
        "split-legacy-used-ring-alignment",
        NotObservable("where the driver looks is private", driver::used_ring_in_one_place),
    ),
    ("split-ring-part-misaligned", RefusedBy("each", "B-ALIGN", layouts::misaligned)),
    ("split-ring-size-omits-event-field", RefusedBy("each", "areas overlap", layouts::overlapping)),
    (
        "split-event-field-written-without-feature",
        NotObservable("without EVENT_IDX nobody reads the field", device::leaves_the_event_field_alone),
    ),
    ("split-free-wrong-chain", DeviceRefuses("S-HEAD")),
    ("split-reuse-head-while-in-flight", DeviceRefuses("S-HEAD")),
    ("split-inflight-exceeds-queue-size", DeviceRefuses("S-AVAIL-MONO")),
    ("split-chain-count-underflow-on-free", Accepted(all_came_back)),
    // Told of the specification's own example: both sides ours, the corrected loop.
    ("split-spec-example-condition-inverted", NotLost(driver::looks_again_after_enabling)),
    ("split-indirect-and-next", DeviceRefuses("S-INDIRECT-NEXT")),
    ("split-indirect-nested", DeviceRefuses("B-INDIRECT-NEST")),
    ("split-indirect-length-zero", DeviceRefuses("B-INDIRECT-LEN")),
    ("split-indirect-without-feature", DeviceRefuses("B-INDIRECT-FEATURE")),
    ("split-indirect-write-flag-ignored", Accepted(as_it_stands)),
    ("split-indirect-limit-leaks-to-next-chain", Accepted(as_it_stands)),
    (
        "split-indirect-table-freed-in-flight",
        NotObservable("the table was read before", driver::keeps_the_table_while_in_flight),
    ),
    ("split-chain-length-equals-queue-size", Accepted(one_more_is_too_long)),
    ("split-buffer-ends-at-memory-end", Accepted(last_byte_is_in_memory)),
    ("split-buffer-crosses-region-boundary", Accepted(as_it_stands)),
    ("split-header-framing-assumption", Accepted(all_came_back)),
    ("split-header-split-over-three-descriptors", Accepted(as_it_stands)),
    ("split-total-shorter-than-header", Accepted(as_it_stands)),
    ("split-used-len-for-transmit-not-zero", DriverRefuses("B-USED-LEN")),
    ("split-used-len-misses-status-byte", Accepted(all_came_back)),
    ("split-used-id-out-of-range", DriverRefuses("B-USED-ID")),
    ("split-used-id-mid-chain", DriverRefuses("B-USED-ID")),
    ("split-used-id-replayed", DriverRefuses("B-USED-ID")),
    (
        "split-driver-rereads-shared-descriptor",
        NotObservable("the driver never reads descriptors", device::leaves_descriptors_alone),
    ),
    // Elements are counted, whatever their length: ours accepts.
    ("split-migration-log-zero-length", Accepted(as_it_stands)),
    ("split-spdk-stale-request-array", NotObservable(PRIVATE, device::stops_at_the_available_index)),
    ("split-event-idx-equality-instead-of-crossing", NotLost(lost::crossing_counts_not_equality)),
    ("split-device-ignores-event-idx", NotLost(lost::device_moves_its_event_on)),
    ("split-driver-barrier-before-kick-check", NotLost(lost::kick_or_second_look)),
    ("split-device-barrier-used-flags", NotLost(lost::interrupt_or_second_look)),
    ("split-rx-buffers-not-recycled", Accepted(all_came_back)),
    ("split-device-never-signals-transmit", NotObservable(SILENT, device::notifies_when_asked)),
    ("split-kick-before-queue-enabled", NotLost(lost::a_new_device_looks_at_the_ring)),
    ("split-restore-avail-event-already-crossed", NotLost(lost::a_restored_device_looks_at_the_ring)),
    ("split-reset-keeps-device-cursors", NotObservable(PRIVATE, device::starts_anew_after_a_reset)),
    ("split-used-idx-reread-from-guest", DriverRefuses("S-USED-MONO")),
    ("split-migration-used-idx-wrong-address", NotObservable(PRIVATE, device::keeps_its_used_index)),
    ("split-inuse-underflow-after-reset", DriverRefuses("S-USED-MONO")),
    ("split-driver-reinitialises-ring-without-reset", DeviceRefuses("S-AVAIL-MONO")),
    (
        "split-ring-reset-reuse-before-confirmation",
        NotObservable("freed memory looks the same", driver::keeps_buffers_until_reset_is_confirmed),
    ),
    ("split-inflight-recovery-drops-slot-zero", NotObservable(SILENT, device::restores_everything_in_flight)),
    ("split-reconnect-skips-pending", NotObservable(SILENT, device::restarts_at_the_used_index)),
    ("split-vhost-stale-avail-entry", DriverRefuses("B-USED-ID")),
    ("split-driver-publishes-before-entry", NotObservable(STALE, driver::writes_the_entry_before_the_index)),
    ("split-in-order-batch-completion", Accepted(all_came_back)),
    ("split-in-order-violated", DriverRefuses("B-IN-ORDER")),
    (
        "split-in-order-driver-descriptor-order",
        RefusedBy("device", "S-IN-ORDER-SEQ", driver::takes_descriptors_in_ring_order),
    ),
    ("split-vringh-accepts-read-after-write", DeviceRefuses("B-ORDER-RW")),
    ("packed-chain-crosses-ring-end", Accepted(all_came_back)),
    (
        "packed-second-lap-constant-flags",
        NotObservable("last lap's flags mean nothing available", driver::turns_the_flags_each_lap),
    ),
    ("packed-indirect-chained-with-next", DeviceRefuses("P-TABLE-MIX")),
    ("packed-indirect-length-zero", DeviceRefuses("B-INDIRECT-LEN")),
    ("packed-id-only-in-last-descriptor", DriverRefuses("B-USED-ID")),
    (
        "packed-used-batch-wrong-positions",
        NotObservable("nothing stands where the driver looks", device::skips_whole_lists),
    ),
    ("packed-used-flags-by-xor-without-id", DriverRefuses("B-USED-ID")),
    // A device may map large ids or refuse them: ours refuses.
    ("packed-buffer-id-out-of-range", DeviceRefuses("P-ID-LAST")),
    (
        "packed-invalid-address-in-batch",
        RefusedBy("memory", "no such address", layouts::address_outside_memory),
    ),
    ("packed-restamp-in-flight", DeviceRefuses("P-NO-TOUCH")),
    // Behind a head that came too early, the device finds a slot that is not available.
    ("packed-head-made-available-first", DeviceRefuses("P-AVAIL-BITS")),
    ("packed-used-id-read-before-flags", Accepted(all_came_back)),
    ("packed-used-check-needs-wrap-counter", Accepted(all_came_back)),
    ("packed-event-disable-inverted", NotLost(lost::enabling_enables)),
    ("packed-event-desc-or-instead-of-set", DeviceRefuses("P-EVENT-FLAGS")),
    ("packed-event-desc-without-feature", DeviceRefuses("P-EVENT-FLAGS")),
    ("packed-delayed-callback-inside-chain", NotLost(lost::second_look_at_the_next_used)),
    (
        "packed-used-position-and-wrap-torn",
        NotObservable("a torn position is private", driver::keeps_slot_and_wrap_counter_together),
    ),
    ("packed-base-encoding-wrap-bit", NotObservable(PRIVATE, device::starts_with_wrap_counter_1)),
    ("packed-queue-size-zero", RefusedBy("each", "B-SIZE", layouts::of_size_zero)),
    ("packed-out-of-order-used-positions", Accepted(all_came_back)),
    ("packed-in-order-batch", Accepted(all_came_back)),
    ("packed-used-without-write-flag-has-no-length", Accepted(length_is_zero)),
    ("packed-rewind-across-wrap", Accepted(as_it_stands)),
    ("packed-notification-data-fields", Accepted(next_position_is_named)),
    ("packed-unmap-of-indirect-table-leaks", Accepted(no_table_is_out)),
    ("packed-write-before-read", DeviceRefuses("B-ORDER-RW")),
    ("both-notify-seen-nothing-popped", NotObservable("an empty ring is legal", driver::ring_in_one_place)),
    ("split-blk-header-and-data-in-one-descriptor", Accepted(all_came_back)),
    ("split-openbsd-rx-interrupt-lost-no-recovery", NotLost(lost::ring_tells_without_interrupt)),
    ("split-freebsd-concurrent-receive-sync", NotLost(lost::second_look_of_the_one_who_drains)),
];
