//! Keys by the names that the browser gives them in its events.

use anyhow::{Context, Result};
use fantoccini::key::Key;

/// One press: keys held down, then a key.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Press {
    pub(crate) held: Vec<char>,
    pub(crate) key: char,
}

/// Reads `ArrowRight`, `Shift+ArrowRight`, `g`.
pub(crate) fn parse(name: &str) -> Result<Press> {
    // The plus sign is a key too.
    let mut parts: Vec<&str> = if name == "+" { vec![name] } else { name.split('+').collect() };
    let key = parts.pop().unwrap_or_default();
    let code = |part: &str| code(part).with_context(|| format!("no key is called {part:?} (in {name:?})"));
    Ok(Press { held: parts.into_iter().map(code).collect::<Result<_>>()?, key: code(key)? })
}

fn code(name: &str) -> Option<char> {
    let mut characters = name.chars();
    if let (Some(character), None) = (characters.next(), characters.next()) {
        return Some(character);
    }
    let key = match name {
        "ArrowLeft" => Key::Left,
        "ArrowRight" => Key::Right,
        "ArrowUp" => Key::Up,
        "ArrowDown" => Key::Down,
        "Home" => Key::Home,
        "End" => Key::End,
        "PageUp" => Key::PageUp,
        "PageDown" => Key::PageDown,
        "Enter" => Key::Enter,
        "Escape" => Key::Escape,
        "Tab" => Key::Tab,
        "Space" => return Some(' '),
        "Backspace" => Key::Backspace,
        "Shift" => Key::Shift,
        "Control" => Key::Control,
        "Alt" => Key::Alt,
        _ => return None,
    };
    Some(key.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_with_those_held() {
        let right = char::from(Key::Right);
        assert_eq!(parse("ArrowRight").unwrap(), Press { held: vec![], key: right });
        assert_eq!(parse("Shift+ArrowRight").unwrap(), Press { held: vec![Key::Shift.into()], key: right });
        assert_eq!(parse("?").unwrap(), Press { held: vec![], key: '?' });
        assert_eq!(parse("+").unwrap(), Press { held: vec![], key: '+' });
    }

    #[test]
    fn an_unknown_key_is_named() {
        let error = parse("Shift+Sideways").unwrap_err().to_string();
        assert_eq!(error, "no key is called \"Sideways\" (in \"Shift+Sideways\")");
    }
}
