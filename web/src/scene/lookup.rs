//! A cell of a scene, looked at closely: its bytes, its fields, who wrote it, which rules speak of it.

use super::{
    CellId, DescriptorGroup, DescriptorRow, RuleKept, Scene, TableRow, descriptors::flag_names,
    rules::rule_kept, words::spoken,
};
use ring_core::spec::{Descriptor, Rule, split::Cell};

/// What there is to say of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellFacts {
    /// What it is called.
    pub name: String,
    /// Its bytes in memory, in order.
    pub bytes: Vec<u8>,
    /// Its fields, by name.
    pub fields: Vec<(&'static str, String)>,
    /// The call that wrote it last, up to this step.
    pub writer: Option<u64>,
    /// The token of its buffer.
    pub token: Option<u64>,
    /// The rules that speak of it.
    pub rules: Vec<RuleKept>,
}

impl Scene {
    /// The descriptors of the ring that are drawn.
    pub fn rows(&self) -> impl Iterator<Item = &DescriptorRow> {
        self.descriptors.iter().flat_map(|group| match group {
            DescriptorGroup::Line { rows, .. } => rows.as_slice(),
            DescriptorGroup::Folded { .. } => &[],
        })
    }

    /// The token of the buffer that a cell belongs to, if the cell is drawn and belongs to one.
    pub fn token_of(&self, cell: CellId) -> Option<u64> {
        self.facts(cell)?.token
    }

    /// What there is to say of a cell; `None` if it is not drawn in this scene.
    pub fn facts(&self, cell: CellId) -> Option<CellFacts> {
        match cell {
            CellId::Entry { table, entry } => {
                let card = self.tables.cards.iter().find(|card| card.table == table)?;
                let row = card.rows.iter().find(|row| row.entry == entry)?;
                Some(table_entry(&card.name, row, (entry < card.entries).then_some(card.token)))
            }
            CellId::Ring(Cell::Descriptor(slot)) => {
                Some(descriptor(self.rows().find(|row| row.slot == slot)?))
            }
            CellId::Ring(Cell::AvailableEntry(slot)) => {
                let column = self.rings.columns.iter().find(|column| column.slot == slot)?;
                let mut fields = vec![("head", column.available.to_string())];
                if let Some(counter) = column.counter {
                    fields.insert(0, ("index", format!("{counter} mod {} = {slot}", self.rings.size)));
                }
                Some(CellFacts {
                    name: format!("avail slot {slot}"),
                    bytes: column.available.to_le_bytes().to_vec(),
                    fields,
                    writer: column.available_writer,
                    token: column.available_token,
                    rules: kept(&[Rule::SplitHead, Rule::SplitDescriptorsReadOnly]),
                })
            }
            CellId::Ring(Cell::UsedEntry(slot)) => {
                let column = self.rings.columns.iter().find(|column| column.slot == slot)?;
                let (id, length) = column.used;
                Some(CellFacts {
                    name: format!("used slot {slot}"),
                    bytes: [id.to_le_bytes(), length.to_le_bytes()].concat(),
                    fields: vec![("id (head)", id.to_string()), ("len", length.to_string())],
                    writer: column.used_writer,
                    token: column.used_token,
                    rules: kept(&[Rule::UsedId, Rule::UsedLength]),
                })
            }
            CellId::Ring(cell) => {
                let flags = self.rings.upper.iter().chain(&self.rings.lower);
                let flag = flags.into_iter().find(|flag| flag.cell == cell)?;
                let rules: &[Rule] = match cell {
                    Cell::AvailableIndex => &[Rule::SplitAvailableIndex, Rule::BarrierPublish],
                    Cell::UsedIndex => &[Rule::SplitUsedIndex, Rule::BarrierPublish],
                    Cell::AvailableFlags => &[Rule::SplitAvailableFlags],
                    Cell::UsedFlags => &[Rule::SplitUsedFlags],
                    _ => &[Rule::NotifyNeeded, Rule::BarrierNotify],
                };
                Some(CellFacts {
                    name: spoken(cell),
                    bytes: flag.value.to_le_bytes().to_vec(),
                    fields: vec![
                        ("value", flag.value.to_string()),
                        ("mod queue size", format!("{}", flag.value % self.rings.size.max(1))),
                        ("written by", flag.side.to_string()),
                    ],
                    writer: flag.writer,
                    token: None,
                    rules: kept(rules),
                })
            }
        }
    }
}

fn kept(rules: &[Rule]) -> Vec<RuleKept> {
    rules.iter().map(|rule| rule_kept(*rule)).collect()
}

fn words(address: u64, length: u32, flags: u16, next: u16) -> Vec<u8> {
    Descriptor { address, length, flags, next }.to_words().map(u64::to_le_bytes).concat()
}

fn fields(address: u64, length: u32, flags: u16, next: u16) -> Vec<(&'static str, String)> {
    let names: Vec<&str> = flag_names(flags).collect();
    let names = if names.is_empty() { String::new() } else { format!(" {}", names.join(" ")) };
    vec![
        ("addr", format!("{address:#x}")),
        ("len", length.to_string()),
        ("flags", format!("{flags:#x}{names}")),
        ("next", next.to_string()),
    ]
}

fn descriptor(row: &DescriptorRow) -> CellFacts {
    CellFacts {
        name: format!("slot {}", row.slot),
        bytes: words(row.address, row.length, row.flags, row.next),
        fields: fields(row.address, row.length, row.flags, row.next),
        writer: row.writer,
        token: row.token,
        rules: kept(&[Rule::SplitNext, Rule::SplitIndirectNext, Rule::SplitDescriptorsReadOnly]),
    }
}

fn table_entry(table: &str, row: &TableRow, token: Option<u64>) -> CellFacts {
    CellFacts {
        name: format!("{table} entry {}", row.entry),
        bytes: words(row.address, row.length, row.flags, row.next),
        fields: fields(row.address, row.length, row.flags, row.next),
        writer: row.writer,
        token,
        rules: kept(&[Rule::IndirectLength, Rule::IndirectNested]),
    }
}
