const MAX_CHARS: usize = 160;

/// A relay's text as it may be shown in a status or a log: one line, at most 160 characters.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_CHARS).collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_replaced_and_text_is_truncated() {
        assert_eq!(printable("a\r\nb\u{1b}[31m"), "a  b [31m");
        assert_eq!(printable(&"é".repeat(1000)).chars().count(), 160);
    }
}
