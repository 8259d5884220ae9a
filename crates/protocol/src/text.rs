//! Untrusted text: cleaned before it is stored, logged or forwarded.

/// Longest reason, in characters; longer ones are cut.
pub const MAX_REASON_CHARS: usize = 1024;

/// Longest description, in characters; longer ones are cut.
pub const MAX_DESCRIPTION_CHARS: usize = 4096;

/// Longest name or version of a client, in characters; longer ones are cut.
pub const MAX_LABEL_CHARS: usize = 128;

/// `text` for one line of a log, a terminal or a page: at most `max_chars` characters, no controls.
///
/// White space becomes one plain space. Control and format characters, which can forge log entries, take over a
/// terminal or reorder text, are dropped. The ends are trimmed. What is cut ends with `…`.
pub fn clean(text: &str, max_chars: usize) -> String {
    let mut cleaned = String::with_capacity(text.len().min(max_chars.saturating_mul(4)));
    let mut chars = 0;
    for c in text.trim().chars() {
        let c = match c {
            c if c.is_whitespace() => ' ',
            c if c.is_control() || reorders_or_hides(c) => continue,
            c => c,
        };
        if chars == max_chars {
            cleaned.pop();
            cleaned.push('…');
            break;
        }
        cleaned.push(c);
        chars += 1;
    }
    cleaned.truncate(cleaned.trim_end().len());
    cleaned
}

/// Characters that reorder text or are invisible, but for the joiners U+200C and U+200D (Persian, emoji).
pub(crate) const fn reorders_or_hides(c: char) -> bool {
    matches!(c,
        '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2060}'..='\u{206f}' | '\u{202a}'..='\u{202e}' | '\u{061c}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0001}' | '\u{e0020}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::clean;

    #[test]
    fn ordinary_text_is_unchanged() {
        assert_eq!(clean("zu teuer – später 👩‍👧 بعداً", 100), "zu teuer – später 👩‍👧 بعداً");
    }

    #[test]
    fn line_breaks_and_escape_sequences_are_removed() {
        assert_eq!(clean("a\r\nlevel=error b", 100), "a  level=error b");
        assert_eq!(clean("\u{1b}[2Jgone\u{7}\0", 100), "[2Jgone");
        assert_eq!(clean("a\u{2028}b\u{85}c", 100), "a b c");
        assert_eq!(clean("\u{202e}dlos\u{2066}", 100), "dlos");
    }

    #[test]
    fn long_text_is_truncated_with_an_ellipsis() {
        assert_eq!(clean("abcdef", 6), "abcdef");
        assert_eq!(clean("abcdefg", 6), "abcde…");
        assert_eq!(clean(&"é".repeat(5000), 1024).chars().count(), 1024);
        assert_eq!(clean("abc", 0), "…");
    }

    proptest! {
        #[test]
        fn cleaning_is_idempotent(text in any::<String>(), max in 1usize..64) {
            let once = clean(&text, max);
            prop_assert!(once.chars().count() <= max);
            prop_assert!(!once.chars().any(char::is_control));
            prop_assert_eq!(clean(&once, max), once);
        }
    }
}
