//! Addresses of Cashu mints.

use url::Url;

/// Longest address of a mint, in bytes.
pub const MAX_MINT_URL_BYTES: usize = 512;

/// The normal form of a mint's address; `None` if `text` is not one: an `http` or `https` URL of at most
/// [`MAX_MINT_URL_BYTES`] without credentials, query or fragment. Scheme and host are in lower case, without default
/// port and trailing slash. The code that connects must check the network address.
pub fn normalize(text: &str) -> Option<String> {
    if text.len() > MAX_MINT_URL_BYTES || text.chars().any(|c| c.is_whitespace() || c.is_control() || c == '\\') {
        return None;
    }
    let url = Url::parse(text).ok()?;
    let valid = matches!(url.scheme(), "http" | "https")
        && url.has_host()
        && url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    let normal = url.as_str().trim_end_matches('/');
    (valid && normal.len() <= MAX_MINT_URL_BYTES).then(|| normal.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{MAX_MINT_URL_BYTES, normalize};

    #[test]
    fn equivalent_urls_are_normalized_to_the_same_text() {
        for (text, normal) in [
            ("https://mint.example", "https://mint.example"),
            ("https://mint.example/", "https://mint.example"),
            ("HTTPS://Mint.Example:443//", "https://mint.example"),
            ("http://127.0.0.1:3338/", "http://127.0.0.1:3338"),
            ("http://[::1]:3338/Bitcoin/", "http://[::1]:3338/Bitcoin"),
            ("https://münze.example", "https://xn--mnze-0ra.example"),
        ] {
            assert_eq!(normalize(text).as_deref(), Some(normal), "{text}");
            assert_eq!(normalize(normal).as_deref(), Some(normal));
        }
    }

    #[test]
    fn invalid_mint_urls_are_refused() {
        let long = format!("https://mint.example/{}", "x".repeat(MAX_MINT_URL_BYTES));
        let grows = format!("https://mint.example/{}", "ä".repeat(200));
        for text in ["", "mint.example", "ftp://mint.example", "https://", "https:\\\\mint.example", &long, &grows] {
            assert_eq!(normalize(text), None, "{text}");
        }
        for (before, after) in [("user@", ""), ("user:word@", ""), ("", "?x=y"), ("", "#x"), ("", "\n")] {
            assert_eq!(normalize(&format!("https://{before}mint.example{after}")), None, "{before} {after}");
        }
        assert_eq!(normalize(" https://mint.example"), None);
    }
}
