//! What is printed when all is done.

use std::{collections::BTreeMap, fmt};

/// What each column counts.
const HEADINGS: [(&str, &str); 10] = [
    ("format", ""),
    ("side", ""),
    ("buffers", ""),
    ("restored", "times"),
    ("flags", "sent / suppressed"),
    ("INDIRECT_DESC", "tables"),
    ("EVENT_IDX", "sent / suppressed"),
    ("IN_ORDER", "used in batches"),
    ("NOTIFICATION_DATA", "positions checked"),
    ("RING_RESET", "buffers recovered"),
];

/// Rows by their place, whichever came first.
#[derive(Default)]
pub(crate) struct Table(BTreeMap<usize, Vec<String>>);

impl Table {
    pub(crate) fn add(&mut self, place: usize, row: Vec<String>) {
        self.0.insert(place, row);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headings = [HEADINGS.map(|(name, _)| name.to_owned()), HEADINGS.map(|(_, what)| what.to_owned())];
        let rows: Vec<&[String]> =
            headings.iter().map(|row| &row[..]).chain(self.0.values().map(|row| &row[..])).collect();
        let width =
            |column| rows.iter().filter_map(|row| row.get(column)).map(String::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..HEADINGS.len()).map(width).collect();
        for row in rows {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}"));
            writeln!(f, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        Ok(())
    }
}
