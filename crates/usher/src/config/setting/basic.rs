//! Numbers, flags and plain texts.

use std::net::IpAddr;

use super::{RawValue, Setting, empty, quoted, text, unfit};

/// Longest one-line text of a setting, in bytes.
pub(super) const MAX_TEXT: usize = 1000;

/// A whole number from `MIN` to `MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoundedInteger<const MIN: u64, const MAX: u64>(u64);

impl<const MIN: u64, const MAX: u64> BoundedInteger<MIN, MAX> {
    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl<const MIN: u64, const MAX: u64> Setting for BoundedInteger<MIN, MAX> {
    /// For the only keys without a default: a port, and an amount in millisats.
    const EXAMPLE: &'static str = if MAX == u16::MAX as u64 { "3001" } else { "100000000" };

    fn expected() -> String {
        format!("a whole number from {MIN} to {MAX}")
    }

    fn read(given: &RawValue) -> Result<Self, String> {
        let number = match given {
            RawValue::Integer(number) => u64::try_from(*number).ok(),
            RawValue::Text(text) if text.is_empty() => return Err(empty::<Self>()),
            RawValue::Text(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok(),
            _ => None,
        };
        number.filter(|number| (MIN..=MAX).contains(number)).map(Self).ok_or_else(unfit::<Self>)
    }

    fn show(&self) -> String {
        self.0.to_string()
    }
}

impl Setting for bool {
    fn expected() -> String {
        "true or false".to_owned()
    }

    fn read(given: &RawValue) -> Result<Self, String> {
        match given {
            RawValue::Flag(flag) => Ok(*flag),
            RawValue::Text(text) if text == "true" => Ok(true),
            RawValue::Text(text) if text == "false" => Ok(false),
            _ => Err(unfit::<Self>()),
        }
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl Setting for IpAddr {
    fn expected() -> String {
        "an IP address".to_owned()
    }

    fn read(given: &RawValue) -> Result<Self, String> {
        text::<Self>(given)?.parse().map_err(|_| unfit::<Self>())
    }

    fn show(&self) -> String {
        quoted(&self.to_string())
    }
}

/// Defines a type for texts that pass a test.
macro_rules! text_setting {
    ($(#[doc = $doc:literal])* $Type:ident, $expected:literal, $example:literal, $test:expr) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $Type(String);

        impl $Type {
            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl $crate::config::setting::Setting for $Type {
            const EXAMPLE: &'static str = $example;

            fn expected() -> String {
                $expected.to_owned()
            }

            fn read(given: &$crate::config::setting::RawValue) -> Result<Self, String> {
                let test: fn(&str) -> bool = $test;
                let text = $crate::config::setting::text::<Self>(given)?;
                let fits = text.len() <= $crate::config::setting::basic::MAX_TEXT && !text.chars().any(char::is_control);
                if fits && test(text) { Ok(Self(text.to_owned())) } else { Err($crate::config::setting::unfit::<Self>()) }
            }

            fn show(&self) -> String {
                $crate::config::setting::quoted(&self.0)
            }
        }
    };
}
pub(super) use text_setting;

/// Whether a text is a domain name and not an IP address, as browsers require for an RP id.
fn is_domain(text: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && !label.starts_with('-')
            && label.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    text.len() <= 253 && text.split('.').all(is_label) && text.parse::<std::net::Ipv4Addr>().is_err()
}

text_setting!(
    /// A domain name of email addresses.
    EmailDomain, "a domain name such as users.example.com", "\"users.example.com\"",
    |text| format!("a@{text}").parse::<usher_engine::ports::Nip05>().is_ok() && !text.contains(':')
);
text_setting!(
    /// A domain to which passkeys are bound.
    RpId, "a domain name in lower case such as login.example.com", "\"login.example.com\"", is_domain
);
text_setting!(
    /// A text of one line.
    Text, "text of at most 1000 bytes in one line", "\"\"", |_| true
);
text_setting!(
    /// A user name in Nostr profiles.
    ProfileName, "a name without spaces", "\"usher\"", |text| !text.contains(char::is_whitespace)
);
text_setting!(
    /// A NIP-05 identifier.
    Nip05, "a NIP-05 identifier such as name@example.com", "\"name@example.com\"", is_nip05
);
text_setting!(
    /// The unit of a Cashu token.
    Unit, "a unit of letters and digits, such as sat", "\"sat\"",
    |text| text.len() <= 32 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
);

fn is_nip05(text: &str) -> bool {
    let name_fits = |name: &str| {
        !name.is_empty() && name.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.'))
    };
    text.split_once('@').is_some_and(|(name, domain)| {
        name_fits(name)
            && domain.contains('.')
            && url::Host::parse(domain).is_ok_and(|host| matches!(host, url::Host::Domain(host) if host == domain))
    })
}
