//! Lightning addresses: `name@domain` (LUD-16).

use url::{Host, Url};

/// Longest address, as for e-mail (RFC 5321).
const MAX_BYTES: usize = 254;

/// The LNURL-pay URL of an address; `None` if `address` is invalid. With `allow_http`, loopback IPv4 addresses use HTTP, for
/// development.
pub(crate) fn url(address: &str, allow_http: bool) -> Option<Url> {
    let address = address.trim();
    let (name, domain) = address.split_once('@')?;
    let (name, domain) = (name.to_ascii_lowercase(), domain.to_ascii_lowercase());
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.+".contains(&byte);
    if name.is_empty() || !name.bytes().all(fits) || address.len() > MAX_BYTES {
        return None;
    }
    let mut url = Url::parse(&format!("https://{domain}/")).ok()?;
    // No user, path or query.
    let authority = url.as_str().strip_prefix("https://")?.strip_suffix('/')?;
    if authority != domain || domain.contains(['/', '?', '#', '\\', '@']) {
        return None;
    }
    let is_loopback = match url.host()? {
        Host::Domain(domain) if domain.contains('.') || domain == "localhost" => false,
        Host::Domain(_) => return None,
        Host::Ipv4(ip) => ip.is_loopback(),
        Host::Ipv6(_) => false,
    };
    url.set_path(&format!(".well-known/lnurlp/{name}"));
    if allow_http && is_loopback {
        url.set_scheme("http").ok()?;
    }
    Some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_becomes_well_known_url() {
        for (address, expected) in [
            ("bob@pay.example", "https://pay.example/.well-known/lnurlp/bob"),
            (" LIGHTNING@Pay.Example ", "https://pay.example/.well-known/lnurlp/lightning"),
            ("bob+tips@pay.example:8443", "https://pay.example:8443/.well-known/lnurlp/bob+tips"),
            ("a.b-c_d@127.0.0.1:4000", "https://127.0.0.1:4000/.well-known/lnurlp/a.b-c_d"),
        ] {
            assert_eq!(url(address, false).unwrap().as_str(), expected, "{address}");
        }
        assert_eq!(url("bob@127.0.0.1:4000", true).unwrap().as_str(), "http://127.0.0.1:4000/.well-known/lnurlp/bob");
        assert_eq!(url("bob@pay.example", true).unwrap().scheme(), "https");
    }

    #[test]
    fn invalid_addresses_are_refused() {
        let long = format!("{}@pay.example", "a".repeat(300));
        for wrong in [
            "",
            "bob",
            "@pay.example",
            "bob@",
            "bob@x",
            "bob@a@pay.example",
            "bob@user:pw@pay.example",
            "bob@pay.example/x",
            "bob@pay.example?x=1",
            "bob@pay.example#x",
            "b/../ob@pay.example",
            "bob@pay.example\\evil.example",
            "bob@pay .example",
            "bob@0x7f000001",
            "bob@127.1",
            "böb@pay.example",
            &long,
        ] {
            assert_eq!(url(wrong, true), None, "{wrong}");
        }
    }
}
