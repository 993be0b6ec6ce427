//! Broken packed rings (virtio 1.2, 2.8), and a few sound ones that are easily taken for broken.

use super::{
    case::{
        Case,
        Expected::{Accepts, Ends, Ignores, Refuses},
    },
    raw::{BUFFER, HEADER, NOWHERE, PACKET, QUEUE_SIZE, Raw, TABLE, WHOLE, Written},
    split::NO_MEMORY,
};
use ring_core::spec::{
    Format, feature,
    packed::{
        descriptor_flag::{AVAIL, INDIRECT, NEXT, USED, WRITE},
        event_flag,
    },
};

/// A case in which both agree, unless [`Case::because`] says why not.
const fn case(
    name: &'static str,
    qemu: super::case::Expected,
    own: super::case::Expected,
    write: fn(&Raw<'_>) -> Written,
) -> Case {
    Case::same(Format::Packed, name, qemu, own, write)
}

/// Bytes of a table of so many entries.
const fn bytes(entries: u32) -> u32 {
    entries * 16
}

/// Slot 0 refers to a table of so many bytes.
fn one_table(raw: &Raw<'_>, length: u32) -> Written {
    raw.packed(0, TABLE, length, 0, AVAIL | INDIRECT)
}

/// A table of so many equal entries.
fn long_table(raw: &Raw<'_>, entries: u32) -> Written {
    for entry in 0..entries {
        raw.packed_entry(entry.into(), BUFFER, 16, 0, 0)?;
    }
    one_table(raw, bytes(entries))
}

/// The cases.
pub(super) const CASES: &[Case] = &[
    case("one descriptor (sound)", Accepts(1), Accepts(1), |raw| raw.packed(0, BUFFER, WHOLE, 7, AVAIL)),
    case("a table of two entries (sound)", Accepts(1), Accepts(1), |raw| {
        raw.packed_entry(0, BUFFER, HEADER, 0, 0)?;
        raw.packed_entry(1, BUFFER + 16, PACKET, 0, 0)?;
        one_table(raw, bytes(2))
    }),
    case("WRITE on the descriptor of a table (sound)", Accepts(1), Accepts(1), |raw| {
        raw.packed_entry(0, BUFFER, WHOLE, 0, 0)?;
        raw.packed(0, TABLE, bytes(1), 0, AVAIL | INDIRECT | WRITE)
    }),
    case("ids and NEXT in a table, where they mean nothing", Accepts(1), Accepts(1), |raw| {
        raw.packed_entry(0, BUFFER, HEADER, 0xffff, NEXT)?;
        raw.packed_entry(1, BUFFER + 16, PACKET, 0x1234, NEXT | AVAIL)?;
        raw.packed(0, TABLE, bytes(2), 3, AVAIL | INDIRECT)
    }),
    case("the id in the last descriptor only (sound)", Accepts(1), Accepts(1), |raw| {
        raw.packed(1, BUFFER + 16, PACKET, 3, AVAIL)?;
        raw.packed(0, BUFFER, HEADER, 7, AVAIL | NEXT)
    }),
    case("a table at an odd address (sound)", Accepts(1), Refuses("memory"), |raw| {
        raw.entry_at(TABLE + 4, [BUFFER, WHOLE.into()])?;
        raw.packed(0, TABLE + 4, bytes(1), 0, AVAIL | INDIRECT)
    })
    .because("nothing asks a table to be aligned, but ring-core loads descriptors by words at multiples of 8, as every driver known aligns them"),
    case("available in the other lap", Ignores, Ignores, |raw| raw.packed(0, BUFFER, WHOLE, 0, USED)),
    case("neither available nor used", Ignores, Ignores, |raw| raw.packed(0, BUFFER, WHOLE, 0, AVAIL | USED)),
    case("a list around the whole ring without an end", Refuses("Looped descriptor"), Refuses("P-AVAIL-BITS"), |raw| {
        (0..QUEUE_SIZE).try_for_each(|slot| raw.packed(slot, BUFFER, 16, 0, AVAIL | NEXT))
    }),
    case("a list into an empty slot", Refuses("zero sized buffers are not allowed"), Refuses("P-AVAIL-BITS"), |raw| {
        raw.packed(0, BUFFER, HEADER, 0, AVAIL | NEXT)
    }),
    case("a list into a slot that is not available", Accepts(1), Refuses("P-AVAIL-BITS"), |raw| {
        raw.packed(1, BUFFER + 16, PACKET, 0, AVAIL | USED)?;
        raw.packed(0, BUFFER, HEADER, 0, AVAIL | NEXT)
    })
    .because("2.8.1 wants every descriptor of a list available; QEMU looks at the first one only"),
    case("a table of 24 bytes", Refuses("Invalid size for indirect buffer table"), Refuses("B-INDIRECT-LEN"), |raw| {
        raw.packed_entry(0, BUFFER, WHOLE, 0, 0)?;
        one_table(raw, 24)
    }),
    case("a table of no bytes", Ends, Refuses("B-INDIRECT-LEN"), |raw| {
        raw.packed_entry(0, BUFFER, WHOLE, 0, 0)?;
        one_table(raw, 0)
    })
    .because("2.7.5.3 wants at least one entry; QEMU's own fault: the guest ends its process by an assertion"),
    case("a table outside memory", Refuses("zero sized buffers are not allowed"), Refuses("memory"), |raw| {
        raw.packed(0, NOWHERE, bytes(2), 0, AVAIL | INDIRECT)
    }),
    case("a table in a table", Accepts(1), Refuses("B-INDIRECT-NEST"), |raw| {
        raw.packed_entry(0, TABLE + 64, bytes(1), 0, INDIRECT)?;
        raw.packed_entry(4, BUFFER, WHOLE, 0, 0)?;
        one_table(raw, bytes(1))
    })
    .because("2.8.7 knows no such flag there; QEMU looks at INDIRECT in the first descriptor only and sends the inner table as data"),
    case("INDIRECT with NEXT", Accepts(2), Refuses("P-TABLE-MIX"), |raw| {
        raw.packed_entry(0, BUFFER, WHOLE, 0, 0)?;
        raw.packed(1, BUFFER, PACKET, 0, AVAIL)?;
        raw.packed(0, TABLE, bytes(1), 0, AVAIL | INDIRECT | NEXT)
    })
    .because("2.8.19 forbids it; QEMU goes into the table and takes what follows it for the next buffer"),
    case("a list that ends in a table", Accepts(1), Refuses("P-TABLE-MIX"), |raw| {
        raw.packed_entry(0, BUFFER + 16, PACKET, 0, 0)?;
        raw.packed(1, TABLE, bytes(1), 0, AVAIL | INDIRECT)?;
        raw.packed(0, BUFFER, HEADER, 0, AVAIL | NEXT)
    })
    .because("2.8.19 forbids it; QEMU looks at INDIRECT in the first descriptor only and sends the table as data"),
    case("INDIRECT, which was not negotiated", Accepts(1), Refuses("B-INDIRECT-FEATURE"), |raw| {
        raw.packed_entry(0, BUFFER, WHOLE, 0, 0)?;
        one_table(raw, bytes(1))
    })
    .with(feature::EVENT_IDX)
    .because("2.8.19 forbids it; QEMU follows tables whatever was negotiated"),
    case("a table of more entries than the queue", Accepts(1), Refuses("B-LONG"), |raw| long_table(raw, 20))
        .because("2.8.19 forbids chains longer than the queue; QEMU's limit is 1024 elements"),
    case("a table of 1100 entries", Refuses("too many write descriptors"), Refuses("B-LONG"), |raw| {
        long_table(raw, 1100)
    }),
    case("an element of no bytes", Refuses("zero sized buffers are not allowed"), Accepts(1), |raw| {
        raw.packed(1, BUFFER, 0, 0, AVAIL)?;
        raw.packed(0, BUFFER, WHOLE, 0, AVAIL | NEXT)
    })
    .because("no rule forbids it: QEMU cannot map it, ring-core has nothing to do for it"),
    case("readable behind writable", Refuses("Incorrect order for descriptors"), Refuses("B-ORDER-RW"), |raw| {
        raw.packed(1, BUFFER, PACKET, 0, AVAIL)?;
        raw.packed(0, BUFFER, HEADER, 0, AVAIL | NEXT | WRITE)
    }),
    case("data outside memory", Accepts(1), Refuses("memory"), |raw| {
        raw.packed(0, NOWHERE, WHOLE, 0, AVAIL)
    })
    .because(NO_MEMORY),
    case("an id beyond the queue", Accepts(1), Refuses("P-ID-LAST"), |raw| {
        raw.packed(0, BUFFER, WHOLE, 0xffff, AVAIL)
    })
    .because("2.8.6 leaves the id to the driver, but ring-core keeps an account by ids and so wants them below the queue size; QEMU hands back any"),
    case("the same id twice", Accepts(2), Refuses("P-ID-LAST"), |raw| {
        raw.packed(1, BUFFER, WHOLE, 5, AVAIL)?;
        raw.packed(0, BUFFER, WHOLE, 5, AVAIL)
    })
    .because("an id is the driver's again only once its use is published; QEMU keeps no list of ids"),
    case("event flags 3", Accepts(1), Refuses("P-EVENT-FLAGS"), |raw| {
        raw.driver_event(0, 3)?;
        raw.packed(0, BUFFER, WHOLE, 0, AVAIL)
    })
    .because("2.8.10 reserves them; QEMU takes them for the event of one descriptor"),
    case("the event of one descriptor without EVENT_IDX", Accepts(1), Refuses("P-EVENT-FLAGS"), |raw| {
        raw.driver_event(0x8000, event_flag::DESC)?;
        raw.packed(0, BUFFER, WHOLE, 0, AVAIL)
    })
    .with(feature::INDIRECT_DESC)
    .because("2.8.10 allows it with EVENT_IDX only; QEMU looks at the flag whatever was negotiated"),
    case("an event beyond the ring", Accepts(1), Refuses("P-EVENT-OFF"), |raw| {
        raw.driver_event(0x7fff, event_flag::DESC)?;
        raw.packed(0, BUFFER, WHOLE, 0, AVAIL)
    })
    .because("2.8.10 wants a slot of the ring; QEMU computes with any"),
];
