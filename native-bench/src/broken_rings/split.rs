//! Broken split rings (virtio 1.2, 2.7), and a few sound ones that are easily taken for broken.

use super::{
    case::{
        Case,
        Expected::{Accepts, Refuses},
        USUAL,
    },
    raw::{BUFFER, END, HEADER, NOWHERE, PACKET, QUEUE_SIZE, Raw, TABLE, WHOLE, Written},
};
use ring_core::spec::{
    Format,
    descriptor_flag::{INDIRECT, NEXT, WRITE},
    feature,
    split::Cell,
};

/// A case in which both agree, unless [`Case::because`] says why not.
const fn case(
    name: &'static str,
    qemu: super::case::Expected,
    own: super::case::Expected,
    write: fn(&Raw<'_>) -> Written,
) -> Case {
    Case::same(Format::Split, name, qemu, own, write)
}

/// Bytes of a table of so many entries.
const fn bytes(entries: u32) -> u32 {
    entries * 16
}

/// Descriptor 0 refers to a table of so many bytes.
fn one_table(raw: &Raw<'_>, length: u32) -> Written {
    raw.split(0, TABLE, length, INDIRECT, 0)?;
    raw.available(&[0], 1)
}

/// A table whose every entry leads to the next.
fn long_table(raw: &Raw<'_>, entries: u32) -> Written {
    for entry in 0..entries {
        let flags = if entry + 1 < entries { NEXT } else { 0 };
        raw.entry(entry.into(), BUFFER, 16, flags, entry as u16 + 1)?;
    }
    one_table(raw, bytes(entries))
}

/// Of data outside memory.
pub(super) const NO_MEMORY: &str =
    "such an address means nothing; QEMU sends what it reads there, ring-core refuses the access";

/// The cases.
pub(super) const CASES: &[Case] = &[
    case("one descriptor (sound)", Accepts(1), Accepts(1), |raw| {
        raw.split(0, BUFFER, WHOLE, 0, 0)?;
        raw.available(&[0], 1)
    }),
    case("a table of two entries (sound)", Accepts(1), Accepts(1), |raw| {
        raw.entry(0, BUFFER, HEADER, NEXT, 1)?;
        raw.entry(1, BUFFER + 16, PACKET, 0, 0)?;
        one_table(raw, bytes(2))
    }),
    case("WRITE on the descriptor of a table (sound)", Accepts(1), Accepts(1), |raw| {
        raw.entry(0, BUFFER, WHOLE, 0, 0)?;
        raw.split(0, TABLE, bytes(1), INDIRECT | WRITE, 0)?;
        raw.available(&[0], 1)
    }),
    case("a descriptor, then a table (sound)", Accepts(1), Accepts(1), |raw| {
        raw.split(0, BUFFER, HEADER, NEXT, 1)?;
        raw.entry(0, BUFFER + 16, PACKET, 0, 0)?;
        raw.split(1, TABLE, bytes(1), INDIRECT, 0)?;
        raw.available(&[0], 1)
    })
    .because("2.7.5.3.2 wants it accepted; QEMU looks at INDIRECT in the first descriptor only and sends the table as data"),
    case("a table at an odd address (sound)", Accepts(1), Refuses("memory"), |raw| {
        raw.entry_at(TABLE + 4, [BUFFER, WHOLE.into()])?;
        raw.split(0, TABLE + 4, bytes(1), INDIRECT, 0)?;
        raw.available(&[0], 1)
    })
    .because("nothing asks a table to be aligned, but ring-core loads descriptors by words at multiples of 8, as every driver known aligns them"),
    case("reserved flags set", Accepts(1), Accepts(1), |raw| {
        raw.split(0, BUFFER, WHOLE, 0x5550, 0)?;
        raw.available(&[0], 1)
    }),
    case("used_event far away", Accepts(1), Accepts(1), |raw| {
        raw.field(Cell::UsedEvent, 0xbeef)?;
        raw.split(0, BUFFER, WHOLE, 0, 0)?;
        raw.available(&[0], 1)
    }),
    case("a loop of two descriptors", Refuses("Looped descriptor"), Refuses("S-NEXT"), |raw| {
        raw.split(0, BUFFER, HEADER, NEXT, 1)?;
        raw.split(1, BUFFER, PACKET, NEXT, 0)?;
        raw.available(&[0], 1)
    }),
    case("a descriptor that leads to itself", Refuses("Looped descriptor"), Refuses("S-NEXT"), |raw| {
        raw.split(0, BUFFER, WHOLE, NEXT, 0)?;
        raw.available(&[0], 1)
    }),
    case("a loop in a table", Refuses("Looped descriptor"), Refuses("S-NEXT"), |raw| {
        raw.entry(0, BUFFER, HEADER, NEXT, 1)?;
        raw.entry(1, BUFFER, PACKET, NEXT, 0)?;
        one_table(raw, bytes(2))
    }),
    case("next beyond the queue", Refuses("Desc next is 9999"), Refuses("S-NEXT"), |raw| {
        raw.split(0, BUFFER, HEADER, NEXT, 9999)?;
        raw.available(&[0], 1)
    }),
    case("next beyond the table", Refuses("Desc next is 9"), Refuses("S-NEXT"), |raw| {
        raw.entry(0, BUFFER, HEADER, NEXT, 9)?;
        one_table(raw, bytes(2))
    }),
    case("a table of 24 bytes", Refuses("Invalid size for indirect buffer table"), Refuses("B-INDIRECT-LEN"), |raw| {
        raw.entry(0, BUFFER, WHOLE, 0, 0)?;
        one_table(raw, 24)
    }),
    case("a table of no bytes", Refuses("Invalid size for indirect buffer table"), Refuses("B-INDIRECT-LEN"), |raw| {
        raw.entry(0, BUFFER, WHOLE, 0, 0)?;
        one_table(raw, 0)
    }),
    case("a table outside memory", Refuses("zero sized buffers are not allowed"), Refuses("memory"), |raw| {
        raw.split(0, NOWHERE, bytes(2), INDIRECT, 0)?;
        raw.available(&[0], 1)
    }),
    case("a table across the end of memory", Refuses("Cannot map indirect buffer"), Refuses("memory"), |raw| {
        raw.split(0, END - 16, bytes(2), INDIRECT, 0)?;
        raw.entry_at(END - 16, [BUFFER, u64::from(HEADER) | u64::from(NEXT) << 32 | 1 << 48])?;
        raw.available(&[0], 1)
    }),
    case("a table in a table", Accepts(1), Refuses("B-INDIRECT-NEST"), |raw| {
        raw.entry(0, TABLE + 64, bytes(1), INDIRECT, 0)?;
        raw.entry(4, BUFFER, WHOLE, 0, 0)?;
        one_table(raw, bytes(1))
    })
    .because("2.7.5.3.1 forbids it; QEMU looks at INDIRECT in the first descriptor only and sends the inner table as data"),
    case("INDIRECT with NEXT", Accepts(1), Refuses("S-INDIRECT-NEXT"), |raw| {
        raw.entry(0, BUFFER, WHOLE, 0, 0)?;
        raw.split(0, TABLE, bytes(1), INDIRECT | NEXT, 1)?;
        raw.split(1, BUFFER, PACKET, 0, 0)?;
        raw.available(&[0], 1)
    })
    .because("2.7.5.3.1 forbids it; QEMU goes into the table and forgets what follows it"),
    case("INDIRECT, which was not negotiated", Accepts(1), Refuses("B-INDIRECT-FEATURE"), |raw| {
        raw.entry(0, BUFFER, WHOLE, 0, 0)?;
        one_table(raw, bytes(1))
    })
    .with(feature::EVENT_IDX)
    .because("2.7.5.3.1 forbids it; QEMU follows tables whatever was negotiated"),
    case("a table of more entries than the queue", Accepts(1), Refuses("B-LONG"), |raw| long_table(raw, 20))
        .because("2.7.5.3.1 forbids chains longer than the queue; QEMU's limit is 1024 elements"),
    case("a table of 1100 entries", Refuses("too many write descriptors"), Refuses("B-LONG"), |raw| {
        long_table(raw, 1100)
    }),
    case("an element of no bytes", Refuses("zero sized buffers are not allowed"), Accepts(1), |raw| {
        raw.split(0, BUFFER, WHOLE, NEXT, 1)?;
        raw.split(1, BUFFER, 0, 0, 0)?;
        raw.available(&[0], 1)
    })
    .because("no rule forbids it: QEMU cannot map it, ring-core has nothing to do for it"),
    case("readable behind writable", Refuses("Incorrect order for descriptors"), Refuses("B-ORDER-RW"), |raw| {
        raw.split(0, BUFFER, HEADER, NEXT | WRITE, 1)?;
        raw.split(1, BUFFER, PACKET, 0, 0)?;
        raw.available(&[0], 1)
    }),
    case("only writable, in a transmit queue", Refuses("virtio-net header not in first element"), Accepts(1), |raw| {
        raw.split(0, BUFFER, WHOLE, WRITE, 0)?;
        raw.available(&[0], 1)
    })
    .because("a rule of the network device (5.1.6.2), not of the ring: it is for who uses ring-core to check"),
    case("half a header", Refuses("virtio-net header"), Accepts(1), |raw| {
        raw.split(0, BUFFER, 5, 0, 0)?;
        raw.available(&[0], 1)
    })
    .because("a rule of the network device (5.1.6.2), not of the ring: it is for who uses ring-core to check"),
    case("data outside memory", Accepts(1), Refuses("memory"), |raw| {
        raw.split(0, NOWHERE, WHOLE, 0, 0)?;
        raw.available(&[0], 1)
    })
    .because(NO_MEMORY),
    case("data across the end of memory", Accepts(1), Refuses("memory"), |raw| {
        raw.split(0, END - 16, WHOLE, 0, 0)?;
        raw.available(&[0], 1)
    })
    .because(NO_MEMORY),
    case("4 GiB less a byte of data", Refuses("bogus descriptor or out of resources"), Refuses("memory"), |raw| {
        raw.split(0, BUFFER, u32::MAX, 0, 0)?;
        raw.available(&[0], 1)
    }),
    case("data of 8 GiB in two elements", Refuses("bogus descriptor or out of resources"), Refuses("B-LONG"), |raw| {
        raw.split(0, BUFFER, u32::MAX, NEXT, 1)?;
        raw.split(1, BUFFER, u32::MAX, 0, 0)?;
        raw.available(&[0], 1)
    }),
    case("a head beyond the queue", Refuses("Guest says index 9999 is available"), Refuses("S-HEAD"), |raw| {
        raw.available(&[9999], 1)
    }),
    case("the same head twice", Accepts(2), Refuses("S-HEAD"), |raw| {
        raw.split(0, BUFFER, WHOLE, 0, 0)?;
        raw.available(&[0, 0], 2)
    })
    .because("a head is the driver's again only once its use is published; QEMU keeps no list of heads"),
    case("two chains that share a descriptor", Accepts(2), Accepts(2), |raw| {
        raw.split(0, BUFFER, HEADER, NEXT, 2)?;
        raw.split(1, BUFFER, HEADER, NEXT, 2)?;
        raw.split(2, BUFFER + 16, PACKET, 0, 0)?;
        raw.available(&[0, 1], 2)
    }),
    case("a head within a chain that is taken", Accepts(2), Accepts(2), |raw| {
        raw.split(0, BUFFER, HEADER, NEXT, 1)?;
        raw.split(1, BUFFER, WHOLE, 0, 0)?;
        raw.available(&[0, 1], 2)
    }),
    case("avail.idx one more than the queue ahead", Accepts(17), Refuses("S-AVAIL-MONO"), |raw| {
        raw.split(0, BUFFER, WHOLE, 0, 0)?;
        raw.available(&[0; QUEUE_SIZE as usize], QUEUE_SIZE + 1)
    })
    .because("2.7.6.1 forbids it; QEMU's transmit queue takes entries until the index is reached, around the ring if need be"),
    case("avail.idx 1000 ahead", Accepts(1000), Refuses("S-AVAIL-MONO"), |raw| {
        raw.split(0, BUFFER, WHOLE, 0, 0)?;
        raw.available(&[0; QUEUE_SIZE as usize], 1000)
    })
    .because("2.7.6.1 forbids it; QEMU's transmit queue takes entries until the index is reached, around the ring if need be"),
    case("avail.flags reserved", Accepts(1), Refuses("S-AVAIL-FLAGS"), |raw| {
        raw.field(Cell::AvailableFlags, 2)?;
        raw.split(0, BUFFER, WHOLE, 0, 0)?;
        raw.available(&[0], 1)
    })
    .with(feature::INDIRECT_DESC)
    .because("2.7.6 knows 0 and 1; QEMU looks at the lowest bit only"),
    case("IN_ORDER, a chain out of ring order", Accepts(1), Refuses("S-IN-ORDER-SEQ"), |raw| {
        raw.split(0, BUFFER, HEADER, NEXT, 2)?;
        raw.split(2, BUFFER + 16, PACKET, 0, 0)?;
        raw.available(&[0], 1)
    })
    .with(USUAL | feature::IN_ORDER)
    .because("2.7.5.2 asks for ring order then; QEMU follows next whatever was negotiated"),
    case("IN_ORDER, a table out of sequence", Accepts(1), Refuses("S-IN-ORDER-SEQ"), |raw| {
        raw.entry(0, BUFFER, HEADER, NEXT, 2)?;
        raw.entry(2, BUFFER + 16, PACKET, 0, 0)?;
        one_table(raw, bytes(3))
    })
    .with(USUAL | feature::IN_ORDER)
    .because("2.7.5.3.1 asks for sequence then; QEMU follows next whatever was negotiated"),
    case("IN_ORDER, the second head not behind the first", Accepts(2), Refuses("S-IN-ORDER-SEQ"), |raw| {
        raw.split(0, BUFFER, WHOLE, 0, 0)?;
        raw.split(5, BUFFER, WHOLE, 0, 0)?;
        raw.available(&[0, 5], 2)
    })
    .with(USUAL | feature::IN_ORDER)
    .because("2.7.5.1 has the driver take descriptors in ring order; QEMU uses buffers in order and does not look where they start"),
];
