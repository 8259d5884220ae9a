//! The text of an LNURL (LUD-01), for QR codes and links.

use bech32::{Bech32, Hrp};

/// Encodes a URL as an LNURL, in lower case. A URL too long for Bech32's checksum is written in the form of LUD-17.
pub fn encode(url: &str) -> String {
    let encoded = bech32::encode::<Bech32>(Hrp::parse_unchecked("lnurl"), url.as_bytes());
    encoded.unwrap_or_else(|_| format!("lnurlp{}", url.trim_start_matches("https").trim_start_matches("http")))
}

/// The URL of an LNURL in lower case; `None` for other text.
pub fn decode(text: &str) -> Option<String> {
    let (prefix, url) = bech32::decode(text).ok()?;
    String::from_utf8(url).ok().filter(|_| prefix == Hrp::parse_unchecked("lnurl"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_example_of_lud_01() {
        let url = "https://service.com/api?q=3fc3645b439ce8e7f2553a69e5267081d96dcd340693afabe04be7b0ccd178df";
        let lnurl = "lnurl1dp68gurn8ghj7um9wfmxjcm99e3k7mf0v9cxj0m385ekvcenxc6r2c35xvukxefcv5mkvv34x5ekzd3ev56nyd3hxqurzepexejxxepnxscrvwfnv9nxzcn9xq6xyefhvgcxxcmyxymnserxfq5fns";
        assert_eq!(encode(url), lnurl);
        assert_eq!(decode(lnurl).as_deref(), Some(url));
        for none in ["", "lnurl1", &lnurl[1..], &lnurl.replace("lnurl1dp", "lnurl1dq"), "lnbc1qqq"] {
            assert_eq!(decode(none), None, "{none}");
        }
    }

    #[test]
    fn what_is_too_long_has_another_form() {
        let path = "a".repeat(2_000);
        assert_eq!(encode(&format!("https://pay.example/{path}")), format!("lnurlp://pay.example/{path}"));
    }
}
