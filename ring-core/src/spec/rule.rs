//! The rules of the ring, each with its stable id.
//!
//! An id stands in error values, in findings, in tests and in the page, and never changes its meaning.

use core::fmt;

/// Which side a rule binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obliged {
    /// The driver must keep it.
    Driver,
    /// The device must keep it.
    Device,
    /// Both must.
    Both,
}

macro_rules! rules {
    ($($name:ident $id:literal $obliged:ident $section:literal $title:literal $requirement:literal)*) => {
        /// A requirement of the specification on virtqueues.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Rule {
            $(
                #[doc = concat!("`", $id, "` (", $section, " \"", $title, "\"): ", $requirement, ".")]
                $name,
            )*
        }

        impl Rule {
            /// Every rule.
            pub const ALL: &'static [Rule] = &[$(Rule::$name),*];

            /// The stable id.
            pub fn id(self) -> &'static str {
                match self { $(Rule::$name => $id),* }
            }

            /// Whom it binds.
            pub fn obliged(self) -> Obliged {
                match self { $(Rule::$name => Obliged::$obliged),* }
            }

            /// Section number in virtio 1.2.
            pub fn section(self) -> &'static str {
                match self { $(Rule::$name => $section),* }
            }

            /// Title of that section.
            pub fn section_title(self) -> &'static str {
                match self { $(Rule::$name => $title),* }
            }

            /// What it asks for, in one sentence.
            pub fn requirement(self) -> &'static str {
                match self { $(Rule::$name => $requirement),* }
            }
        }
    };
}

rules! {
    Align "B-ALIGN" Driver "2.7.1" "Driver Requirements: Virtqueues"
        "descriptor area 16-aligned; driver/device areas 2/4 (split), 4/4 (packed)"
    Size "B-SIZE" Driver "2.7" "Split Virtqueues"
        "queue size 1..=32768; a power of two for split, any value for packed"
    ReadableFirst "B-ORDER-RW" Driver "2.7.4.2" "Driver Requirements: Message Framing"
        "device-readable elements before device-writable ones"
    NonEmpty "B-NONEMPTY" Driver "2.7.13.1" "Placing Buffers Into The Descriptor Table"
        "a buffer has at least one element"
    TooLong "B-LONG" Driver "2.7.5.3.1" "Driver Requirements: Indirect Descriptors"
        "a chain is no longer than the queue size, and at most 2^32 bytes in total"
    IndirectFeature "B-INDIRECT-FEATURE" Driver "2.7.5.3.1" "Driver Requirements: Indirect Descriptors"
        "INDIRECT only after VIRTIO_F_INDIRECT_DESC"
    IndirectLength "B-INDIRECT-LEN" Driver "2.7.5.3" "Indirect Descriptors"
        "a table's byte length is a non-zero multiple of 16"
    IndirectNested "B-INDIRECT-NEST" Driver "2.7.5.3.1" "Driver Requirements: Indirect Descriptors"
        "no INDIRECT inside a table"
    IndirectWrite "B-INDIRECT-WRITE" Device "2.7.5.3.2" "Device Requirements: Indirect Descriptors"
        "WRITE on the descriptor that refers to a table is ignored"
    ReadOnly "B-READONLY" Device "2.7.5.1" "Device Requirements: The Virtqueue Descriptor Table"
        "never writes a device-readable element; never reads one it may only write"
    UsedId "B-USED-ID" Device "2.7.8" "The Virtqueue Used Ring"
        "a used id names a buffer that is available and not yet used"
    UsedLength "B-USED-LEN" Device "2.7.8.2" "Device Requirements: The Virtqueue Used Ring"
        "used length no larger than the writable bytes of the buffer; never an overestimate of what was written"
    NotifySpurious "B-NOTIFY-SPURIOUS" Both "2.7.7.1" "Driver Requirements: Used Buffer Notification Suppression"
        "a notification with nothing new is harmless"
    NotifyNeeded "B-NOTIFY-NEEDED" Both "2.7.10.1" "Driver Requirements: Available Buffer Notification Suppression"
        "the notification the other side asked for is sent (flag, or event index/descriptor crossed)"
    BarrierPublish "B-BARRIER-PUBLISH" Both "2.7.13.3.1" "Driver Requirements: Updating idx"
        "contents visible before the index/flag that publishes them"
    BarrierNotify "B-BARRIER-NOTIFY" Both "2.7.13.4.1" "Driver Requirements: Notifying The Device"
        "full barrier between publishing and reading the suppression state"
    RaceRecheck "B-RACE-RECHECK" Both "2.7.14" "Receiving Used Buffers From The Device"
        "after re-enabling notifications, the ring is looked at once more"
    InOrder "B-IN-ORDER" Device "2.7.9" "In-order use of descriptors"
        "with VIRTIO_F_IN_ORDER, buffers are used in the order made available; one used element may stand for a batch, its id the batch's last buffer, and the ring position skips the batch"
    NotificationData "B-NOTIF-DATA" Driver "2.9" "Driver Notifications"
        "with VIRTIO_F_NOTIFICATION_DATA, next_off/next_wrap name the next position not yet made available"
    Reset "B-RESET" Both "2.6.1.1.1" "Device Requirements: Virtqueue Reset"
        "with VIRTIO_F_RING_RESET, no use and no notification after reset; state returns to the initial one; resources freed only once reset is confirmed"
    SplitAvailableIndex "S-AVAIL-MONO" Driver "2.7.6.1" "Driver Requirements: The Virtqueue Available Ring"
        "avail.idx only grows (mod 2^16), by the number of heads placed, never more than queue size ahead of used"
    SplitHead "S-HEAD" Driver "2.7.6" "The Virtqueue Available Ring"
        "an avail entry is a descriptor index below the queue size, the head of a chain not already outstanding"
    SplitNext "S-NEXT" Driver "2.7.5.2" "Driver Requirements: The Virtqueue Descriptor Table"
        "next is below the queue size and the chain has no loop"
    SplitIndirectNext "S-INDIRECT-NEXT" Driver "2.7.5.3.1" "Driver Requirements: Indirect Descriptors"
        "INDIRECT and NEXT are never set together"
    SplitIndirectTail "S-INDIRECT-TAIL" Device "2.7.5.3.2" "Device Requirements: Indirect Descriptors"
        "zero or more ordinary descriptors followed by one INDIRECT descriptor is accepted"
    SplitAvailableFlags "S-AVAIL-FLAGS" Driver "2.7.7.1" "Driver Requirements: Used Buffer Notification Suppression"
        "avail.flags is 0 or 1 without EVENT_IDX, 0 with it"
    SplitUsedFlags "S-USED-FLAGS" Device "2.7.10.2" "Device Requirements: Available Buffer Notification Suppression"
        "used.flags is 0 or 1 without EVENT_IDX, 0 with it"
    SplitUsedIndex "S-USED-MONO" Device "2.7.8.2" "Device Requirements: The Virtqueue Used Ring"
        "used.idx only grows, never past what is available; len and id are written before idx"
    SplitDescriptorsReadOnly "S-DESC-RO" Device "2.7.5.1" "Device Requirements: The Virtqueue Descriptor Table"
        "the device never writes the descriptor table or the avail ring"
    SplitInOrderSequence "S-IN-ORDER-SEQ" Driver "2.7.5.2" "Driver Requirements: The Virtqueue Descriptor Table"
        "with IN_ORDER, ring descriptors are taken in ring order and table entries in sequence"
    PackedWrap "P-WRAP" Both "2.8.1" "Driver and Device Ring Wrap Counters"
        "wrap counters start at 1 and toggle exactly when the last slot is passed"
    PackedAvailableBits "P-AVAIL-BITS" Driver "2.8.1" "Driver and Device Ring Wrap Counters"
        "available: AVAIL = driver wrap counter, USED = its inverse, on every descriptor of a list"
    PackedUsedBits "P-USED-BITS" Device "2.8.1" "Driver and Device Ring Wrap Counters"
        "used: USED = AVAIL = device wrap counter"
    PackedHeadLast "P-HEAD-LAST" Driver "2.8.17" "Driver Requirements: Scatter-Gather Support"
        "the first descriptor of a list becomes available after all the others"
    PackedIdLast "P-ID-LAST" Driver "2.8.6" "Next Flag: Descriptor Chaining"
        "the buffer id stands in the last descriptor of a list; ids in flight are unique and below the queue size"
    PackedSkip "P-SKIP" Both "2.8.6" "Next Flag: Descriptor Chaining"
        "one used descriptor per list, at the position of the next expected one; both sides skip the list's length"
    PackedNoTouch "P-NO-TOUCH" Driver "2.8.16" "Driver Requirements: The Virtqueue Descriptor Table"
        "a slot is rewritten only after it was seen used"
    PackedNoRewrite "P-NO-REWRITE" Device "2.8.15" "Device Requirements: The Virtqueue Descriptor Table"
        "a used descriptor is not changed after its USED bit"
    PackedTableFlags "P-TABLE-FLAGS" Driver "2.8.19" "Driver Requirements: Indirect Descriptors"
        "inside a table only WRITE is set; NEXT, AVAIL, USED and the id are reserved"
    PackedTableMix "P-TABLE-MIX" Driver "2.8.19" "Driver Requirements: Indirect Descriptors"
        "no INDIRECT descriptor inside a chained list"
    PackedUsedWrite "P-USED-WRITE" Device "2.8.3" "Write Flag"
        "WRITE in a used descriptor says whether the buffer was written; without it the length is reserved"
    PackedEventFlags "P-EVENT-FLAGS" Both "2.8.10" "Driver and Device Event Suppression"
        "event flags 0 enable, 1 disable, 2 one descriptor (only with EVENT_IDX); 3 reserved, other bits 0"
    PackedEventOffset "P-EVENT-OFF" Both "2.8.10" "Driver and Device Event Suppression"
        "event offset below the queue size, with its wrap counter"
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Rule {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}

#[cfg(test)]
mod tests {
    use super::Rule;

    #[test]
    fn ids_are_unique_and_say_their_format() {
        for (index, rule) in Rule::ALL.iter().enumerate() {
            assert!(matches!(rule.id().split_once('-'), Some(("B" | "S" | "P", rest)) if !rest.is_empty()));
            assert!(Rule::ALL[index + 1..].iter().all(|other| other.id() != rule.id()));
        }
    }
}
