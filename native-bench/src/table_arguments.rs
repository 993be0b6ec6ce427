//! The command line's choice of a table strategy.

use clap::{Args, ValueEnum};
use ring_core::indirect::{
    LARGEST_NETWORK_BUFFER, Limit, LineStack, PreChained, Strategy, TableStrategy, Threshold, Unconditional,
    default_network_threshold,
};
use ring_core::spec::Format;

/// Where indirect tables come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Table {
    /// Never a table: every element takes a ring descriptor.
    None,
    /// A table from the allocator for every buffer of several elements.
    Alloc,
    /// Tables of up to `--threshold` entries are kept in a list linked both ways and used again.
    List,
    /// As `list`, linked one way; bounded by `--limit-tables` or `--limit-bytes` if wanted.
    Single,
    /// As `list`, the free tables kept outside of the tables.
    Slab,
    /// Tables of two entries are kept, larger ones allocated.
    Two,
    /// Tables whose `next` fields are written once, of 8 entries or of `--threshold`.
    PreChained,
    /// A table for each ring descriptor, of 18 entries or of `--threshold`.
    PerSlot,
    /// As `list`, with a list for each NUMA node; here there is one node.
    PerNode,
    /// No table for buffers of up to `--direct` elements while half of the ring is free; else tables of whole cache lines
    /// from stacks, which are given back when they are not needed for long.
    Lines,
}

impl Table {
    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

#[derive(Args, Clone, Debug)]
pub(crate) struct TableArguments {
    /// Where indirect tables come from.
    #[arg(long, value_enum, default_value_t = Table::List)]
    table: Table,

    /// The largest buffer, in elements, that takes a table which is kept; up to the queue size; 0 keeps none [default: as
    /// many as fill a cache line, usually 4; 8 for pre-chained, 18 for per-slot].
    #[arg(long, value_name = "N")]
    threshold: Option<u16>,

    /// How many idle tables `single` keeps.
    #[arg(long, value_name = "N", conflicts_with = "limit_bytes")]
    limit_tables: Option<u16>,

    /// How many bytes of idle tables `single` keeps.
    #[arg(long, value_name = "BYTES")]
    limit_bytes: Option<u32>,

    /// The largest buffer, in elements, that takes ring descriptors with `lines`; up to the queue size [default: as many as
    /// are cheaper than a table: 8 in split rings, 2 in packed ones].
    #[arg(long, value_name = "N")]
    direct: Option<u16>,

    /// Takes tables only while fewer ring descriptors than this are free; `auto` is the larger of 16 and an eighth of the
    /// queue size.
    #[arg(long, value_name = "N|auto", value_parser = free_descriptors)]
    below: Option<FreeDescriptors>,
}

/// A threshold for [`Threshold`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FreeDescriptors {
    OfQueue,
    Exactly(u16),
}

fn free_descriptors(text: &str) -> Result<FreeDescriptors, String> {
    match text {
        "auto" => Ok(FreeDescriptors::OfQueue),
        _ => text
            .parse()
            .map(FreeDescriptors::Exactly)
            .map_err(|_| "expected `auto` or a number of free descriptors, up to 65535".into()),
    }
}

impl TableArguments {
    /// The strategy for queues of this size, or what is wrong with it.
    pub(crate) fn strategy(&self, queue_size: u16, format: Format) -> Result<TableStrategy, String> {
        self.refuse_unused()?;
        let threshold = |default: u16| self.threshold.unwrap_or(default.min(queue_size));
        let line = default_network_threshold(queue_size);
        let limit = match (self.limit_tables, self.limit_bytes) {
            (Some(tables), _) => Limit::Tables(tables),
            (None, Some(bytes)) => Limit::Bytes(bytes),
            (None, None) => Limit::None,
        };
        let over: Unconditional = match self.table {
            Table::None => Strategy::Direct,
            Table::Alloc => Strategy::PlainAllocation,
            Table::List => Strategy::ListCache { threshold: threshold(line) },
            Table::Single => Strategy::SingleList { threshold: threshold(line), limit },
            Table::Slab => Strategy::SlabCache { entries: threshold(line) },
            Table::Two => Strategy::TwoDescriptorCache,
            Table::PreChained => Strategy::PreChained { entries: threshold(PreChained::SMALL) },
            // As the review had it: as many as the largest packet has fragments, and one.
            Table::PerSlot => Strategy::PerSlot { entries: threshold(LARGEST_NETWORK_BUFFER - 1) },
            Table::PerNode => Strategy::PerNodeList { threshold: threshold(line) },
            Table::Lines => {
                let default = LineStack::direct_most(format).min(queue_size);
                Strategy::LineStack { direct: self.direct.unwrap_or(default) }
            }
        };
        let strategy = match self.below {
            None => over.into(),
            Some(FreeDescriptors::OfQueue) => {
                Strategy::Threshold { free: Threshold::default_free(queue_size), over }
            }
            Some(FreeDescriptors::Exactly(free)) => Strategy::Threshold { free, over },
        };
        strategy.check(queue_size).map_err(|error| error.to_string())?;
        Ok(strategy)
    }

    /// An option that the chosen strategy does not have would be ignored without a word.
    fn refuse_unused(&self) -> Result<(), String> {
        let unused = |option: &str| Err(format!("{option} means nothing with --table {}", self.table.name()));
        match self.table {
            _ if self.direct.is_some() && self.table != Table::Lines => unused("--direct"),
            Table::None | Table::Alloc | Table::Two | Table::Lines if self.threshold.is_some() => {
                unused("--threshold")
            }
            Table::Single => Ok(()),
            _ if self.limit_tables.is_some() => unused("--limit-tables"),
            _ if self.limit_bytes.is_some() => unused("--limit-bytes"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        tables: TableArguments,
    }

    fn parse(line: &str) -> Result<TableStrategy, String> {
        let words = ["test"].into_iter().chain(line.split_whitespace());
        Line::try_parse_from(words).map_err(|error| error.to_string())?.tables.strategy(16, Format::Packed)
    }

    #[test]
    fn every_strategy_has_a_name() {
        for (line, strategy) in [
            ("", "list cache, threshold 4"),
            ("--table none", "always direct"),
            ("--table alloc", "plain allocation"),
            ("--table list --threshold 0", "list cache, threshold 0"),
            ("--table single", "single list, threshold 4"),
            ("--table single --limit-tables 3", "single list, threshold 4, at most 3 tables"),
            ("--table single --limit-bytes 512", "single list, threshold 4, at most 512 bytes"),
            ("--table slab --threshold 2", "slab cache of 2 entries"),
            ("--table two", "two-descriptor cache"),
            ("--table pre-chained", "chained tables of 8 entries"),
            ("--table pre-chained --threshold 16", "chained tables of 16 entries"),
            ("--table per-slot", "a table of 16 entries per slot"),
            ("--table per-node", "list cache per NUMA node, threshold 4"),
            ("--table lines", "line stacks, direct up to 2 elements"),
            (
                "--table lines --direct 7 --below 9",
                "line stacks, direct up to 7 elements, below 9 free descriptors",
            ),
            ("--below auto", "list cache, threshold 4, below 16 free descriptors"),
            ("--table two --below 5", "two-descriptor cache, below 5 free descriptors"),
        ] {
            assert_eq!(parse(line).map(|found| found.to_string()), Ok(strategy.into()), "{line}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_told() {
        for (line, part) in [
            ("--threshold 17", "threshold is 17, expected 0 to 16, the queue size"),
            ("--below 17", "free is 17, expected 0 to 16"),
            ("--table lines --direct 17", "direct is 17, expected 0 to 16, the queue size"),
            ("--direct 3", "--direct means nothing with --table list"),
            ("--table lines --threshold 3", "--threshold means nothing with --table lines"),
            ("--below many", "expected `auto` or a number"),
            ("--table two --threshold 4", "--threshold means nothing with --table two"),
            ("--limit-tables 4", "--limit-tables means nothing with --table list"),
            ("--table slab --limit-bytes 4", "--limit-bytes means nothing with --table slab"),
            ("--table single --limit-tables 4 --limit-bytes 4", "cannot be used with"),
            ("--table hash", "possible values: none, alloc, list"),
        ] {
            let error = parse(line).map(|found| found.to_string()).expect_err(line);
            assert!(error.contains(part), "{line}: {error}");
        }
    }
}
