//! What a part found: in words, as a table, as JSON.

use std::fmt;

use clap::ValueEnum;

use super::Part;

/// One line of the table.
#[derive(Debug)]
pub(super) struct Evidence {
    what: String,
    figure: String,
    holds: bool,
}

impl Evidence {
    /// What was tried, how much of it, and whether it held.
    pub(super) fn new(what: impl Into<String>, figure: impl Into<String>, holds: bool) -> Self {
        Self { what: what.into(), figure: figure.into(), holds }
    }

    pub(super) fn failed(what: impl Into<String>, figure: impl Into<String>) -> Self {
        Self::new(what, figure, false)
    }

    fn verdict(&self) -> &'static str {
        if self.holds { "holds" } else { "FAILED" }
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}: {}", self.what, self.figure, self.verdict())
    }
}

/// Everything found, in the order in which it was.
#[derive(Debug, Default)]
pub(super) struct Table(Vec<(Part, Evidence)>);

impl Table {
    pub(super) fn add(&mut self, part: Part, evidence: Evidence) {
        self.0.push((part, evidence));
    }

    /// Whether there is something, and all of it holds.
    pub(super) fn is_good(&self) -> bool {
        !self.0.is_empty() && self.0.iter().all(|(_, evidence)| evidence.holds)
    }

    /// An array with an object for each line.
    pub(super) fn json(&self) -> String {
        let lines: Vec<String> = self
            .0
            .iter()
            .map(|(part, evidence)| {
                let Evidence { what, figure, holds } = evidence;
                let [part, what, figure] = [&name(*part), what, figure].map(|text| quoted(text));
                format!(r#"  {{"part": {part}, "what": {what}, "figure": {figure}, "holds": {holds}}}"#)
            })
            .collect();
        format!("[\n{}\n]", lines.join(",\n"))
    }
}

impl fmt::Display for Table {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |text: fn(&Evidence) -> &str| {
            self.0.iter().map(|(_, evidence)| text(evidence).chars().count()).max().unwrap_or_default()
        };
        let (what, figure) = (width(|evidence| &evidence.what), width(|evidence| &evidence.figure));
        for (part, evidence) in &self.0 {
            writeln!(
                formatter,
                "{:<14}{:<what$}  {:<figure$}  {}",
                name(*part),
                evidence.what,
                evidence.figure,
                evidence.verdict()
            )?;
        }
        let held = self.0.iter().filter(|(_, evidence)| evidence.holds).count();
        write!(formatter, "\n{held} of {} hold", self.0.len())
    }
}

fn name(part: Part) -> String {
    part.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            control if control.is_control() => quoted.push_str(&format!("\\u{:04x}", control as u32)),
            _ => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_failure_makes_the_whole_bad() {
        let mut table = Table::default();
        assert!(!table.is_good(), "nothing was shown yet");
        table.add(Part::Fuzz, Evidence::new("device", "10 executions", true));
        assert!(table.is_good());
        table.add(Part::Package, Evidence::failed("could not be run", "no \"cargo\""));
        assert!(!table.is_good());
        assert!(table.to_string().ends_with("1 of 2 hold"), "{table}");
        assert_eq!(
            table.json().lines().nth(2),
            Some(
                r#"  {"part": "package", "what": "could not be run", "figure": "no \"cargo\"", "holds": false}"#
            )
        );
    }
}
