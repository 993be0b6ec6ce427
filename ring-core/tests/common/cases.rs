//! How often a property is tried.

use proptest::test_runner::Config;

/// So many cases, or as many as the environment variable `PROPTEST_CASES` says; ten times as many where the code is
/// optimised.
pub(crate) fn cases(unoptimised: u32) -> Config {
    // The default has read the environment.
    let default = Config::default();
    if std::env::var_os("PROPTEST_CASES").is_some() {
        return default;
    }
    Config { cases: if cfg!(debug_assertions) { unoptimised } else { 10 * unoptimised }, ..default }
}
