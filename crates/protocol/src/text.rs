//! Untrusted text: cleaned before it is stored, logged or forwarded.

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory as _};

/// Longest reason, in characters; longer ones are truncated.
pub const MAX_REASON_CHARS: usize = 1024;

/// Longest description, in characters; longer ones are truncated.
pub const MAX_DESCRIPTION_CHARS: usize = 4096;

/// Longest name or version of a client, in characters; longer ones are truncated.
pub const MAX_LABEL_CHARS: usize = 128;

/// Most combining marks on one character: no script needs more.
const MAX_MARKS: u8 = 4;

/// Makes `text` safe for one line of a log, a terminal or a page: at most `max_chars` characters, without control
/// characters.
///
/// White space becomes one plain space. Control and invisible characters are dropped, because they can forge log
/// entries, control a terminal, reorder text or make two names look the same; joiners between two characters (Persian,
/// emoji) are kept. Combining marks without a base character or in excess are dropped. The ends are trimmed. Truncated
/// text ends with `…`.
pub fn clean(text: &str, max_chars: usize) -> String {
    let mut cleaned = String::with_capacity(text.len().min(max_chars.saturating_mul(4)));
    let (mut chars, mut marks, mut joiner) = (0, MAX_MARKS, None);
    for c in text.chars() {
        let c = if c.is_whitespace() { ' ' } else { c };
        if is_joiner(c) {
            joiner = Some(c).filter(|_| cleaned.ends_with(|last| last != ' '));
            continue;
        }
        if c.is_control() || is_invisible(c) && !is_variation(c) || c == ' ' && cleaned.is_empty() {
            continue;
        }
        if is_mark(c) {
            if marks == MAX_MARKS {
                continue;
            }
            marks += 1;
        } else {
            marks = if c == ' ' { MAX_MARKS } else { 0 };
        }
        for c in joiner.take().filter(|_| c != ' ').into_iter().chain([c]) {
            if chars == max_chars {
                cleaned.pop();
                cleaned.truncate(cleaned.trim_end_matches(is_joiner).len());
                cleaned.push('…');
                return cleaned;
            }
            cleaned.push(c);
            chars += 1;
        }
    }
    cleaned.truncate(cleaned.trim_end().len());
    cleaned
}

/// Whether a character is invisible on its own or has no defined appearance: format characters, fillers, joiners,
/// variation selectors, unassigned characters.
pub fn is_invisible(c: char) -> bool {
    match c {
        // Arabic and Kaithi signs that are visible around the following text.
        '\u{600}'..='\u{605}'
        | '\u{6dd}'
        | '\u{70f}'
        | '\u{890}'
        | '\u{891}'
        | '\u{8e2}'
        | '\u{110bd}'
        | '\u{110cd}' => false,
        '\u{34f}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{2065}'
        | '\u{2800}'
        | '\u{3164}'
        | '\u{ffa0}'
        | '\u{fdd0}'..='\u{fdef}'
        | '\u{fff0}'..='\u{fff8}'
        | '\u{16fe4}'
        | '\u{1d159}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        c => is_variation(c) || matches!(c.general_category(), GeneralCategory::Format | GeneralCategory::PrivateUse),
    }
}

const fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

/// Variation selectors of emoji, which change the preceding character.
const fn is_variation(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}')
}

fn is_mark(c: char) -> bool {
    is_variation(c) || matches!(c.general_category(), GeneralCategory::NonspacingMark | GeneralCategory::EnclosingMark)
}

#[cfg(test)]
mod tests {
    fn clean(text: &str, max: usize) -> String {
        let once = super::clean(text, max);
        assert_eq!(super::clean(&once, max), once);
        once
    }

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

    #[test]
    fn nothing_hides_in_a_text_and_no_marks_pile_up() {
        for hidden in
            [0xad, 0x34f, 0x115f, 0x180e, 0x2062, 0x2800, 0x3164, 0xffa0, 0xe0101, 0xfff0, 0x1d159, 0xe000, 0xfdd0]
        {
            let hidden = char::from_u32(hidden).unwrap();
            assert_eq!(clean(&format!("bil{hidden}ling"), 100), "billing", "{hidden:?}");
        }
        assert_eq!(clean("\u{200d}ab\u{200d} \u{200c}c\u{200c}", 100), "ab c", "joiners that join nothing");
        assert_eq!(clean("\u{301}a\u{301}", 100), "a\u{301}");
        assert_eq!(clean(&format!("z{}x", "\u{336}".repeat(50)), 100), format!("z{}x", "\u{336}".repeat(4)));
        assert_eq!(clean("ก็ที่ 1️⃣ ❤️ র‍্য שָׁלוֹם", 100), "ก็ที่ 1️⃣ ❤️ র‍্য שָׁלוֹם");
    }
}
