//! The address: which run, queue and step it names. Version 1.
//!
//! `#v=1&src=runs/transmit-and-receive.vqt&queue=transmit&call=185&access=3`; a file from the reader's own disk is
//! named by `file=` instead, since no address leads to it.

use std::fmt::Write;

/// The version that is written, and the newest that is read.
const VERSION: &str = "1";

/// Where a run comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A file on the same server, relative to the page.
    Server(String),
    /// A file of the reader's own, by its name.
    Own(String),
}

impl Source {
    /// The file's name, without its folder.
    pub fn name(&self) -> &str {
        match self {
            Source::Server(path) => path.rsplit('/').next().unwrap_or(path),
            Source::Own(name) => name,
        }
    }
}

/// What an address names. Whatever it leaves out is up to the page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Address {
    /// The run.
    pub source: Option<Source>,
    /// The queue's name.
    pub queue: Option<String>,
    /// The position after a call.
    pub call: Option<u64>,
    /// The access within it, from 1.
    pub access: Option<u32>,
}

impl Address {
    /// Reads what follows `#`, or `?` for `src` alone. An unknown version or a value that is none is told.
    pub fn parse(hash: &str, query: &str) -> Result<Address, String> {
        let mut address = Address::default();
        if let Some(path) = pairs(query, '?').find(|(name, _)| name == "src") {
            address.source = Some(Source::Server(path.1));
        }
        for (name, value) in pairs(hash, '#') {
            let number = || value.parse().map_err(|_| bad(&name, &value, "a number"));
            match name.as_str() {
                "v" if value != VERSION => {
                    return Err(bad("v", &value, "1: the page is older than the address"));
                }
                "src" => address.source = Some(Source::Server(value)),
                "file" => address.source = Some(Source::Own(value)),
                "queue" => address.queue = Some(value),
                "call" => address.call = Some(number()?),
                "access" => {
                    let access = value.parse().map_err(|_| bad(&name, &value, "a number"))?;
                    address.access = Some(access);
                }
                // Left for later versions.
                _ => {}
            }
        }
        Ok(address)
    }

    /// The part from `#` on.
    pub fn hash(&self) -> String {
        let mut hash = format!("#v={VERSION}");
        let mut add = |name: &str, value: &str| {
            // Writing to a string does not fail.
            let _ = write!(hash, "&{name}={}", escape(value));
        };
        match &self.source {
            Some(Source::Server(path)) => add("src", path),
            Some(Source::Own(name)) => add("file", name),
            None => {}
        }
        if let Some(queue) = &self.queue {
            add("queue", queue);
        }
        if let Some(call) = self.call {
            add("call", &call.to_string());
        }
        if let Some(access) = self.access {
            add("access", &access.to_string());
        }
        hash
    }
}

fn bad(name: &str, value: &str, expected: &str) -> String {
    format!("the address says {name}={value}; expected {expected}")
}

fn pairs(text: &str, start: char) -> impl Iterator<Item = (String, String)> {
    let parts = text.strip_prefix(start).unwrap_or(text).split('&');
    parts.filter_map(|part| part.split_once('=')).map(|(name, value)| (name.to_owned(), unescape(value)))
}

/// What may stand in a fragment as it is stays readable; everything else is percent-encoded.
fn escape(value: &str) -> String {
    let mut escaped = String::new();
    for byte in value.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                escaped.push(char::from(byte));
            }
            _ => {
                // Writing to a string does not fail.
                let _ = write!(escaped, "%{byte:02X}");
            }
        }
    }
    escaped
}

fn unescape(value: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = value.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_it_was_written() {
        let sources = [
            None,
            Some(Source::Server("runs/transmit-and-receive.vqt".into())),
            Some(Source::Own("a & b #50%=ä.vqt".into())),
        ];
        for source in sources {
            for (call, access) in [(None, None), (Some(0), None), (Some(u64::MAX), Some(3))] {
                let address = Address { source: source.clone(), queue: Some("receive".into()), call, access };
                assert_eq!(Address::parse(&address.hash(), ""), Ok(address));
            }
        }
    }

    #[test]
    fn an_address_stays_readable() {
        let address = Address {
            source: Some(Source::Server("runs/transmit-and-receive.vqt".into())),
            queue: Some("transmit".into()),
            call: Some(185),
            access: Some(3),
        };
        let expected = "#v=1&src=runs/transmit-and-receive.vqt&queue=transmit&call=185&access=3";
        assert_eq!(address.hash(), expected);
    }

    #[test]
    fn what_cannot_be_read_is_told() {
        for (hash, part) in [("#v=2", "v=2"), ("#v=1&call=x", "call=x"), ("#access=-1", "access=-1")] {
            assert!(Address::parse(hash, "").unwrap_err().contains(part), "{hash}");
        }
        assert_eq!(Address::parse("", "").unwrap(), Address::default());
        assert_eq!(Address::parse("#later=1&nothing", "").unwrap(), Address::default());
        let query = Address::parse("", "?theme=dark&src=a%20b.vqt").unwrap();
        assert_eq!(query.source, Some(Source::Server("a b.vqt".into())));
    }
}
