//! Rows of cells, aligned.

/// Lines whose columns are as wide as their widest cell: so many of the first ones begin together, the others end together.
pub(super) fn aligned(rows: &[Vec<String>], left: usize) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| Some(row.get(column)?.chars().count())).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
            if column < left { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        text += cells.collect::<Vec<_>>().join("  ").trim_end();
        text += "\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::aligned;

    #[test]
    fn columns_begin_or_end_together() {
        let rows = [vec!["a".into(), "12".into()], vec!["long".into(), "3".into()], vec!["b".into()]];
        assert_eq!(aligned(&rows, 1), "a     12\nlong   3\nb\n");
    }
}
