//! Units of Cashu tokens.

/// Longest name of a unit, in bytes.
pub const MAX_TICKET_UNIT_BYTES: usize = 32;

/// The normal form of a unit's name, in lower case; `None` if `text` is not one: 1 to [`MAX_TICKET_UNIT_BYTES`] ASCII
/// letters, digits, `-` and `_`: `sat`, `msat`, `usd`, or one of a mint's own, such as `multi`.
pub fn normalize(text: &str) -> Option<String> {
    let valid = (1..=MAX_TICKET_UNIT_BYTES).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    valid.then(|| text.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::{MAX_TICKET_UNIT_BYTES, normalize};

    #[test]
    fn units() {
        for (text, normal) in [("sat", "sat"), ("SAT", "sat"), ("multi", "multi"), ("age_18-EU", "age_18-eu")] {
            assert_eq!(normalize(text).as_deref(), Some(normal), "{text}");
        }
        let (longest, longer) = ("x".repeat(MAX_TICKET_UNIT_BYTES), "x".repeat(MAX_TICKET_UNIT_BYTES + 1));
        assert_eq!(normalize(&longest), Some(longest));
        for text in ["", " ", "sat ", "s a t", "sät", "a.b", "a/b", "a\0b", &longer] {
            assert_eq!(normalize(text), None, "{text:?}");
        }
    }
}
