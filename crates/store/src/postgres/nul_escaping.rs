//! Escapes U+0000, which PostgreSQL texts cannot hold.
//!
//! Most stored texts are JSON, which escapes this character. But the ports guarantee that any text is returned
//! unchanged: U+0000 is written as [`MARK`] and `0`, and the mark itself as [`MARK`] and `1`.

use std::borrow::Cow;

use crate::codec::Unreadable;

/// A noncharacter, which is reserved for internal use and does not occur in normal text.
const MARK: char = '\u{FFFF}';

pub(super) fn encode(text: &str) -> Cow<'_, str> {
    if !text.contains(['\0', MARK]) {
        return Cow::Borrowed(text);
    }
    let mut encoded = String::with_capacity(text.len().saturating_add(8));
    for character in text.chars() {
        match character {
            '\0' => encoded.extend([MARK, '0']),
            MARK => encoded.extend([MARK, '1']),
            other => encoded.push(other),
        }
    }
    Cow::Owned(encoded)
}

/// Reverses [`encode`].
pub(super) fn decode(stored: &str) -> Result<Cow<'_, str>, Unreadable> {
    if !stored.contains(MARK) {
        return Ok(Cow::Borrowed(stored));
    }
    let mut text = String::with_capacity(stored.len());
    let mut characters = stored.chars();
    while let Some(character) = characters.next() {
        text.push(match character {
            MARK => match characters.next() {
                Some('0') => '\0',
                Some('1') => MARK,
                _ => return Err(Unreadable("a text")),
            },
            other => other,
        });
    }
    Ok(Cow::Owned(text))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn texts_round_trip_without_zeros(text in "[\0\u{FFFF}01a\u{1F511}]{0,12}") {
            let stored = encode(&text).into_owned();
            prop_assert!(!stored.contains('\0'));
            prop_assert_eq!(decode(&stored).map(Cow::into_owned), Ok(text));
        }
    }

    #[test]
    fn ordinary_text_is_stored_as_it_is() {
        assert!(matches!(encode(r#"{"a":"\u0000ü"}"#), Cow::Borrowed(_)));
        for damaged in ["\u{FFFF}", "a\u{FFFF}2"] {
            assert_eq!(decode(damaged), Err(Unreadable("a text")));
        }
    }
}
