//! Payees as wallets copy them and people paste them: an invoice, a Lightning address or an LNURL, in a URI, with line
//! breaks or invisible characters.

use url::form_urlencoded;

use crate::text::is_invisible;

/// Schemes before an invoice or an address. Some programs turn a pasted Lightning address into `mailto:`.
const SCHEMES: [&str; 5] = ["lightning:", "web+lightning:", "bitcoin:", "mailto:", "lnurl:"];

/// The invoice, Lightning address or LNURL in a text, in lower case, which does not change the meaning. Other text is
/// not made valid.
pub fn plain(text: &str) -> String {
    let text = seen(text);
    let mut rest = unquoted(&text).to_owned();
    // An on-chain address with an invoice (BIP 21).
    if let Some((_, query)) = rest.split_once('?')
        && let Some((_, invoice)) = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "lightning")
    {
        rest = seen(&invoice);
    }
    let mut payee = rest.as_str();
    while let Some(after) = SCHEMES.iter().find_map(|scheme| payee.strip_prefix(scheme)) {
        payee = after.trim_start_matches('/');
    }
    // Parameters of a URI.
    payee = payee.split(['?', '&', '#']).next().unwrap_or_default();
    // Some wallets write a Lightning address with this prefix (BIP 353).
    unquoted(payee.trim_start_matches(['₿', '⚡'])).to_owned()
}

/// The text in lower case, without invisible characters, and with an ASCII `@`.
fn seen(text: &str) -> String {
    let is_seen = |c: &char| !(c.is_whitespace() || c.is_control() || is_invisible(*c));
    let usual = |c| if matches!(c, '＠' | '﹫') { '@' } else { c };
    text.chars().filter(is_seen).flat_map(char::to_lowercase).map(usual).collect()
}

/// Strips surrounding punctuation.
fn unquoted(text: &str) -> &str {
    const AROUND: &str = "\"'`<>()[]{}“”„‘’‚«»‹›.,;!";
    text.trim_matches(|c| AROUND.contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_wallets_copy_is_read() {
        for copied in [
            "lnbc2500u1pvjl",
            " LNBC2500U1PVJL\r\n",
            "Lnbc2500u1pvjl",
            "lightning:lnbc2500u1pvjl",
            "LIGHTNING:LNBC2500U1PVJL",
            "lightning://lnbc2500u1pvjl",
            "lightning:lnbc2500u1pvjl?label=Coffee%20%26%20cake",
            "lnbc2500u1pvjl?amount=1",
            "lightning: lnbc2500\n u1pvjl",
            "lnbc2500\u{200b}u1\u{2060}pvjl\u{feff}",
            "\u{feff}lnbc25\u{ad}00u1\u{200d}pvjl\u{202c}",
            "bitcoin:bc1qar0?amount=0.0025&lightning=lnbc2500u1pvjl",
            "BITCOIN:BC1QAR0?AMOUNT=0.0025&LIGHTNING=LNBC2500U1PVJL&label=x",
            "bitcoin:?lightning=lightning%3Alnbc2500u1pvjl",
            "bitcoin://bc1qar0?lightning=lnbc2500u1pvjl#x",
            "\u{201c}lnbc2500u1pvjl\u{201d}",
            "<lightning:lnbc2500u1pvjl>",
            "(lnbc2500u1pvjl).",
            "bitcoin:bc1qar0?lightning=lnbc2500%E2%80%8Bu1pvjl",
        ] {
            assert_eq!(plain(copied), "lnbc2500u1pvjl", "{copied:?}");
        }
        for copied in [
            "bob@pay.example",
            "₿bob@pay.example",
            "\u{20bf}\u{fe0f} Bob@Pay.Example ",
            "lightning:bob@pay.example",
            "lightning:₿bob@pay.example?x=1",
            "mailto:bob@pay.example",
            "bob@\u{200b}pay.example",
            "⚡bob＠pay.example",
            "‘bob@pay.example’,",
        ] {
            assert_eq!(plain(copied), "bob@pay.example", "{copied:?}");
        }
        assert_eq!(plain("lightning:LNURL1DP68"), "lnurl1dp68");
        assert_eq!(plain("lnurl:LNURL1DP68"), "lnurl1dp68");
        assert_eq!(plain("https://pay.example/?lightning=LNURL1DP68"), "lnurl1dp68");
    }

    #[test]
    fn other_text_stays_none() {
        for (text, read) in
            [("", ""), ("nonsense", "nonsense"), ("bitcoin:bc1qar0?amount=1", "bc1qar0"), ("lightning:", "")]
        {
            assert_eq!(plain(text), read);
        }
    }
}
