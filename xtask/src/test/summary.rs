//! Reads the closing lines of test runners: cargo's and wasm-bindgen's print the same one.

/// Numbers of tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    /// Left out by the tests themselves (`#[ignore]`).
    pub(crate) ignored: usize,
}

/// The sum of all closing lines in `output`, or `None` if there is none.
pub(crate) fn count(output: &str) -> Option<Counts> {
    output.lines().filter_map(count_line).reduce(|sum, counts| Counts {
        passed: sum.passed + counts.passed,
        failed: sum.failed + counts.failed,
        ignored: sum.ignored + counts.ignored,
    })
}

/// `test result: ok. 5 passed; 0 failed; 1 ignored; …`
fn count_line(line: &str) -> Option<Counts> {
    let (_, numbers) = line.trim().strip_prefix("test result: ")?.split_once(". ")?;
    let number = |what: &str| {
        numbers.split(';').find_map(|part| part.trim().strip_suffix(what)?.trim_end().parse::<usize>().ok())
    };
    Some(Counts { passed: number("passed")?, failed: number("failed")?, ignored: number("ignored")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_closing_lines_are_added_up() {
        let output = "running 3 tests\n\
            test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n\
            test result: FAILED. 1 passed; 2 failed; 1 ignored; 0 filtered out; finished in 0.01s\n";
        assert_eq!(count(output), Some(Counts { passed: 4, failed: 2, ignored: 1 }));
    }

    #[test]
    fn output_without_a_closing_line_counts_as_unreadable_not_as_zero() {
        assert_eq!(count("error: could not compile `web`\n"), None);
        assert_eq!(count("test result: ok. many passed\n"), None);
    }
}
