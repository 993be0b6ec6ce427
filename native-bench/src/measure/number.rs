//! Numbers as C's `%g` prints them, which is how results in this field are printed.

/// `value` with `digits` significant digits, without trailing zeros; in scientific notation where that is shorter
/// than writing zeros.
pub fn general(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let precision = digits.saturating_sub(1);
    let scientific = format!("{value:.precision$e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if exponent < -4 || exponent >= digits as i32 {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", trimmed(mantissa), exponent.abs());
    }
    let decimals = (precision as i32 - exponent).max(0) as usize;
    trimmed(&format!("{value:.decimals$}")).to_owned()
}

fn trimmed(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

#[cfg(test)]
mod tests {
    use super::general;

    #[test]
    fn prints_as_c_does() {
        let cases = [
            (944_739_000.0, 6, "9.44739e+08"),
            (6_100_000.0, 2, "6.1e+06"),
            (786_421.0, 6, "786421"),
            (9_600.0, 2, "9.6e+03"),
            (104.25, 6, "104.25"),
            (6.07, 2, "6.1"),
            (99.96, 3, "100"),
            (0.5, 6, "0.5"),
            (0.000_012, 2, "1.2e-05"),
            (12.0, 2, "12"),
            (0.0, 6, "0"),
        ];
        for (value, digits, text) in cases {
            assert_eq!(general(value, digits), text);
        }
    }
}
