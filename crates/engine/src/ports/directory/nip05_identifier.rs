use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// Longest [`Nip05`], in bytes: 64 of the name, `@`, 253 of the domain, and a port.
pub const MAX_NIP05_BYTES: usize = 64 + 1 + 253 + 6;

/// A NIP-05 identifier, `name@domain`, in lower case; `_@domain` names the domain itself. The domain is a name and not
/// a number, and may be followed by a port (`name@shop.example:8443`).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nip05 {
    text: String,
    at: usize,
}

/// Why a text is not a NIP-05 identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Nip05Error {
    /// Not exactly one `@`.
    #[error("must be a NIP-05 identifier such as name@example.com")]
    Shape,
    /// The part before the `@` is invalid.
    #[error("the name of a NIP-05 identifier has 1 to 64 characters of a-z, 0-9, -, _ and .")]
    Name,
    /// The part after the `@` is invalid.
    #[error("the domain of a NIP-05 identifier is a domain name such as example.com, of a-z, 0-9, - and .")]
    Domain,
}

impl Nip05 {
    /// The part before the `@`.
    pub fn name(&self) -> &str {
        self.text.get(..self.at).unwrap_or_default()
    }

    /// The part after the `@`: a domain name, and optionally a port.
    pub fn domain(&self) -> &str {
        self.text.get(self.at + 1..).unwrap_or_default()
    }

    /// The whole identifier.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether `name` can be the name of an identifier.
    pub fn is_name(name: &str) -> bool {
        (1..=64).contains(&name.len())
            && name.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.'))
    }
}

impl Serialize for Nip05 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl FromStr for Nip05 {
    type Err = Nip05Error;

    fn from_str(text: &str) -> Result<Self, Nip05Error> {
        if text.len() > MAX_NIP05_BYTES {
            return Err(Nip05Error::Shape);
        }
        let text = text.to_ascii_lowercase();
        let (name, domain) = text.split_once('@').ok_or(Nip05Error::Shape)?;
        if domain.contains('@') {
            return Err(Nip05Error::Shape);
        }
        if !Self::is_name(name) {
            return Err(Nip05Error::Name);
        }
        let (host, port) = match domain.split_once(':') {
            None => (domain, None),
            Some((host, port)) => (host, Some(port)),
        };
        let is_port = |port: &str| port.parse::<u16>().is_ok_and(|number| number != 0 && number.to_string() == port);
        if !is_domain(host) || !port.is_none_or(is_port) {
            return Err(Nip05Error::Domain);
        }
        let at = name.len();
        Ok(Self { text, at })
    }
}

/// Whether `host` is a domain name. URL parsers treat one that ends with a number as an address (`1.2.3.4`, `0x7f.1`).
fn is_domain(host: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-'))
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    host.len() <= 253
        && host.split('.').all(is_label)
        && host.rsplit('.').next().is_some_and(|last| last.starts_with(|c: char| c.is_ascii_lowercase()))
}

impl fmt::Display for Nip05 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Nip05 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_identifiers_are_normalized() {
        for (text, name, domain) in [
            ("bob@example.com", "bob", "example.com"),
            ("_@example.com", "_", "example.com"),
            ("Bob.B-b_1@Example.COM", "bob.b-b_1", "example.com"),
            ("a@xn--bcher-kva.example", "a", "xn--bcher-kva.example"),
            ("a@shop.example:8443", "a", "shop.example:8443"),
            ("a@localhost:80", "a", "localhost:80"),
        ] {
            let identifier: Nip05 = text.parse().unwrap();
            assert_eq!((identifier.name(), identifier.domain()), (name, domain));
            assert_eq!(identifier.to_string(), format!("{name}@{domain}"));
            assert_eq!(identifier.as_str().parse(), Ok(identifier.clone()));
        }
    }

    #[test]
    fn invalid_identifiers_are_refused() {
        let long_name = format!("{}@example.com", "a".repeat(65));
        let long_domain = format!("a@{}com", "abcdefgh.".repeat(28));
        for (text, why) in [
            ("", Nip05Error::Shape),
            ("example.com", Nip05Error::Shape),
            ("a@b@example.com", Nip05Error::Shape),
            ("@example.com", Nip05Error::Name),
            ("a b@example.com", Nip05Error::Name),
            ("ä@example.com", Nip05Error::Name),
            ("a+b@example.com", Nip05Error::Name),
            ("a\n@example.com", Nip05Error::Name),
            (&long_name, Nip05Error::Name),
            ("a@", Nip05Error::Domain),
            ("a@127.0.0.1", Nip05Error::Domain),
            ("a@2130706433", Nip05Error::Domain),
            ("a@0x7f.1", Nip05Error::Domain),
            ("a@example.com.", Nip05Error::Domain),
            ("a@[::1]", Nip05Error::Domain),
            ("a@-b.example", Nip05Error::Domain),
            ("a@b..example", Nip05Error::Domain),
            ("a@example.com/x", Nip05Error::Domain),
            ("a@example.com?x", Nip05Error::Domain),
            ("a@example.com#x", Nip05Error::Domain),
            ("a@example.com:0", Nip05Error::Domain),
            ("a@example.com:+80", Nip05Error::Domain),
            ("a@example.com:65536", Nip05Error::Domain),
            ("a@example.com\n", Nip05Error::Domain),
            ("a@bücher.example", Nip05Error::Domain),
            (&long_domain, Nip05Error::Domain),
        ] {
            assert_eq!(text.parse::<Nip05>(), Err(why), "{text}");
        }
    }
}
