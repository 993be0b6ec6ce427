//! Which version a QEMU is.

use std::fmt;

/// A version of QEMU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    major: u32,
    minor: u32,
    patch: u32,
}

impl Version {
    /// The oldest that has all that is used here (`-netdev dgram`).
    pub const OLDEST: Version = Version { major: 7, minor: 2, patch: 0 };

    /// Its first two numbers, whose versions behave alike.
    pub fn family(self) -> (u32, u32) {
        (self.major, self.minor)
    }

    /// Reads what `--version` prints: "QEMU emulator version 10.0.2 (Debian ...)".
    pub(super) fn parse(output: &str) -> Option<Self> {
        let (_, rest) = output.lines().next()?.split_once("version ")?;
        let number = rest.split(|c: char| !c.is_ascii_digit() && c != '.').next()?;
        let mut parts = number.split('.').map(|part| part.parse().ok());
        let (major, minor) = (parts.next()??, parts.next()??);
        Some(Version { major, minor, patch: parts.next().flatten().unwrap_or(0) })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::Version;

    #[test]
    fn reads_versions_as_they_are_printed() {
        let debian = "QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2)\nCopyright (c) 2003-2025 ...\n";
        assert_eq!(Version::parse(debian), Some(Version { major: 10, minor: 0, patch: 2 }));
        assert_eq!(
            Version::parse("QEMU emulator version 9.2"),
            Some(Version { major: 9, minor: 2, patch: 0 })
        );
        assert!(Version::parse("QEMU emulator version 6.2.0\n").unwrap() < Version::OLDEST);
        for other in ["", "GNU bash, version five", "QEMU emulator version 10", "version 1"] {
            assert_eq!(Version::parse(other), None, "{other}");
        }
    }
}
