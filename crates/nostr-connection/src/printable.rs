const MAX_CHARS: usize = 160;

/// A relay's text, made safe for a status or a log: one line, at most 160 characters.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_CHARS).collect::<String>().trim().to_owned()
}
