//! The `Retry-After` header.

use std::time::{Duration, UNIX_EPOCH};

use usher_engine::UnixMillis;

/// The longest delay that a receiver can request; the whole schedule is three days.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

/// Parses a `Retry-After` value, in seconds or as an HTTP date; `None` if it is neither. A past date is zero.
pub(crate) fn parse(value: &[u8], now: UnixMillis) -> Option<Duration> {
    let text = std::str::from_utf8(value).ok()?.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // Overflow counts as the maximum.
        return Some(text.parse().map_or(MAX_RETRY_AFTER, Duration::from_secs).min(MAX_RETRY_AFTER));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    let date = date.duration_since(UNIX_EPOCH).unwrap_or_default();
    Some(date.saturating_sub(Duration::from_millis(now.0)).min(MAX_RETRY_AFTER))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sun, 06 Nov 1994 08:49:37 GMT, the example of the standard.
    const NOW: UnixMillis = UnixMillis::from_secs(784_111_777);

    #[test]
    fn seconds_and_dates_are_read_and_capped() {
        let secs = |secs| Some(Duration::from_secs(secs));
        for (text, expected) in [
            ("0", secs(0)),
            ("120", secs(120)),
            (" 7 ", secs(7)),
            ("86400", secs(86_400)),
            ("86401", secs(86_400)),
            ("18446744073709551616", secs(86_400)),
            ("99999999999999999999999999999999999", secs(86_400)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", secs(0)),
            ("Sun, 06 Nov 1994 08:50:37 GMT", secs(60)),
            ("Sunday, 06-Nov-94 08:50:37 GMT", secs(60)),
            ("Sun Nov  6 08:50:37 1994", secs(60)),
            ("Sun, 06 Nov 1994 08:40:00 GMT", secs(0)),
            ("Fri, 31 Dec 9999 23:59:59 GMT", secs(86_400)),
            ("", None),
            ("-1", None),
            ("1.5", None),
            ("1e3", None),
            ("soon", None),
            ("١٢", None),
            ("Sun, 99 Nov 1994 08:49:37 GMT", None),
        ] {
            assert_eq!(parse(text.as_bytes(), NOW), expected, "{text:?}");
        }
        assert_eq!(parse(b"\xff\xfe", NOW), None);
    }

    #[test]
    fn dates_are_compared_with_millisecond_precision() {
        let half_past = UnixMillis(NOW.0 + 500);
        assert_eq!(parse(b"Sun, 06 Nov 1994 08:49:38 GMT", half_past), Some(Duration::from_millis(500)));
    }
}
