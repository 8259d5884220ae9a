//! Lists of values: in a text, separated by commas.

use std::net::IpAddr;

use ipnet::IpNet;
use nostr::nips::nip19::FromBech32 as _;
use url::Url;
use usher_engine::operations::LoginMethod;
use usher_protocol::PublicKey;
use usher_protocol::keys::{npub, parse_public_key};

/// Defines a type for lists. `$read` reads an entry (`None`: it is invalid), `$fits` tests the list, `$show` shows an entry.
macro_rules! list_setting {
    (
        $(#[doc = $doc:literal])* $Type:ident($Entry:ty), $entries:ident,
        $expected:expr, $example:literal, $read:expr, $fits:expr, $show:expr
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $Type(Vec<$Entry>);

        impl $Type {
            /// The entries.
            pub fn $entries(&self) -> &[$Entry] {
                &self.0
            }
        }

        impl $crate::config::setting::Setting for $Type {
            const EXAMPLE: &'static str = $example;

            fn expected() -> String {
                $expected
            }

            fn read(given: &$crate::config::setting::RawValue) -> Result<Self, String> {
                let fits: fn(&Vec<$Entry>) -> bool = $fits;
                let entries = $crate::config::setting::entries::<Self>(given)?;
                let read: Option<Vec<$Entry>> = entries.into_iter().map($read).collect();
                read.filter(fits).map(Self).ok_or_else($crate::config::setting::unfit::<Self>)
            }

            fn show(&self) -> String {
                toml::Value::from(self.0.iter().map($show).collect::<Vec<_>>()).to_string()
            }
        }
    };
}
pub(super) use list_setting;

const MAX_KEYS: usize = 100;

const MAX_RETURN_URLS: usize = 32;

const MAX_NETWORKS: usize = 32;

list_setting!(
    /// Public keys of people.
    PublicKeys(PublicKey), keys,
    format!("a list of at most {MAX_KEYS} public keys, each as npub or as 64 hex characters, separated by commas"),
    "[\"npub180cvv07tjdrrgpa0j7j7tmnyl2yr6yr7l8j4s3evf6u64th6gkwsyjh6w6\"]",
    key, |keys| keys.len() <= MAX_KEYS, npub
);
list_setting!(
    /// Addresses under which pages may redirect a browser; without any, no page redirects.
    ReturnUrls(Url), urls,
    format!("a list of at most {MAX_RETURN_URLS} http(s) URLs without user name, query and fragment, separated by commas"),
    "[\"https://app.example/login\"]",
    plain_url, |urls| urls.len() <= MAX_RETURN_URLS, Url::as_str
);
list_setting!(
    /// The addresses or networks of proxies whose forwarded client addresses are trusted. A single address is a network
    /// of one.
    ProxyNetworks(IpNet), networks,
    format!("a list of at most {MAX_NETWORKS} IP addresses or networks such as 10.0.0.0/8, separated by commas"),
    "[\"127.0.0.1\"]",
    network, |networks| networks.len() <= MAX_NETWORKS, show_network
);
list_setting!(
    /// Login methods without duplicates, at least one, in the order in which pages show them.
    LoginMethods(LoginMethod), methods,
    format!("a list of {}, each at most once, separated by commas", LoginMethod::ALL.map(LoginMethod::as_str).join(", ")),
    "[\"extension\", \"wallet\"]",
    LoginMethod::parse, |methods| !methods.is_empty() && are_different(methods), |method| method.as_str()
);

/// Whether no entry is there twice.
pub(super) fn are_different<T: PartialEq>(entries: &[T]) -> bool {
    (1..).zip(entries).all(|(next, entry)| !entries.iter().skip(next).any(|other| other == entry))
}

pub(super) fn key(text: &str) -> Option<PublicKey> {
    let hex = match PublicKey::from_bech32(text) {
        Ok(key) => key.to_hex(),
        Err(_) => text.to_owned(),
    };
    // For npubs too: the key must be a point on the curve.
    parse_public_key(&hex).ok()
}

fn plain_url(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let is_plain = matches!(url.scheme(), "http" | "https")
        && url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    is_plain.then_some(url)
}

fn network(text: &str) -> Option<IpNet> {
    match text.parse::<IpAddr>() {
        Ok(address) => Some(address.to_canonical().into()),
        Err(_) => text.parse::<IpNet>().ok().map(|network| network.trunc()),
    }
}

fn show_network(network: &IpNet) -> String {
    let is_address = network.prefix_len() == network.max_prefix_len();
    if is_address { network.addr().to_string() } else { network.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::setting::{RawValue, Setting as _};

    #[test]
    fn keys_are_read_in_both_forms_and_shown_as_npub() {
        let read = |text: &str| PublicKeys::read(&RawValue::Text(text.to_owned()));
        let both = "npub180cvv07tjdrrgpa0j7j7tmnyl2yr6yr7l8j4s3evf6u64th6gkwsyjh6w6, \
                    3bf0c63fcb93463407af97a5e5ee64fa883d107ef9e558472c4eb9aaaefa459d";
        let keys = read(both).unwrap();
        assert_eq!(keys.keys()[0], keys.keys()[1]);
        assert_eq!(keys.show().matches("npub180cvv07tjdrrgpa0j7j7tmnyl2yr6yr7l8j4s3evf6u64th6gkwsyjh6w6").count(), 2);
        assert_eq!(read("").unwrap().show(), "[]");
        for wrong in
            ["npub1", "fiatjaf", &"0".repeat(64), "nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5"]
        {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn urls_are_read_and_shown() {
        let read = |text: &str| ReturnUrls::read(&RawValue::Text(text.to_owned()));
        assert_eq!(read("").unwrap().show(), "[]");
        let two = read("https://app.example/login, http://127.0.0.1:8080").unwrap();
        assert_eq!(two.show(), r#"["https://app.example/login", "http://127.0.0.1:8080/"]"#);
        for wrong in [
            "app.example",
            "ftp://app.example/",
            "https://user@app.example/",
            "https://app.example/?a",
            "https://app.example/#a",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn addresses_and_networks_are_read_and_shown() {
        let read = |text: &str| ProxyNetworks::read(&RawValue::Text(text.to_owned()));
        assert_eq!(read("").unwrap().show(), "[]");
        let several = read("127.0.0.1, ::1,10.1.2.3/8, fd00::/8, ::ffff:192.0.2.1").unwrap();
        assert_eq!(several.show(), r#"["127.0.0.1", "::1", "10.0.0.0/8", "fd00::/8", "192.0.2.1"]"#);
        for wrong in ["proxy.example", "10.0.0.0/33", "10.0.0", "127.0.0.1,", "127.0.0.1:80"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn ways_are_read_in_their_order() {
        let read = |text: &str| LoginMethods::read(&RawValue::Text(text.to_owned()));
        let two = read("signer, wallet").unwrap();
        assert_eq!(two.methods(), [LoginMethod::Signer, LoginMethod::Wallet]);
        assert_eq!(two.show(), r#"["signer", "wallet"]"#);
        let list = RawValue::List(vec!["extension".to_owned()]);
        assert_eq!(LoginMethods::read(&list).unwrap().methods(), [LoginMethod::Extension]);
        for wrong in ["", "password", "wallet,wallet", "Wallet", "wallet,"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert!(LoginMethods::read(&RawValue::List(Vec::new())).is_err());
    }
}
