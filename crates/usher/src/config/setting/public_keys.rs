//! Public keys of people.

use nostr::nips::nip19::FromBech32 as _;
use usher_protocol::PublicKey;
use usher_protocol::keys::{npub, parse_public_key};

use super::{RawValue, Setting, entries, unfit};

/// The most entries of a list.
const MAX_ENTRIES: usize = 100;

/// Public keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKeys(Vec<PublicKey>);

impl PublicKeys {
    /// The keys.
    pub fn keys(&self) -> &[PublicKey] {
        &self.0
    }
}

impl Setting for PublicKeys {
    fn expected() -> String {
        format!(
            "a list of at most {MAX_ENTRIES} public keys, each as npub or as 64 hex characters, separated by commas"
        )
    }

    const EXAMPLE: &'static str = "[\"npub180cvv07tjdrrgpa0j7j7tmnyl2yr6yr7l8j4s3evf6u64th6gkwsyjh6w6\"]";

    /// An empty list is valid.
    fn read(given: &RawValue) -> Result<Self, String> {
        let keys: Option<Vec<PublicKey>> = entries::<Self>(given)?.into_iter().map(key).collect();
        keys.filter(|keys| keys.len() <= MAX_ENTRIES).map(Self).ok_or_else(unfit::<Self>)
    }

    fn show(&self) -> String {
        toml::Value::from(self.0.iter().map(npub).collect::<Vec<_>>()).to_string()
    }
}

pub(super) fn key(text: &str) -> Option<PublicKey> {
    let hex = match PublicKey::from_bech32(text) {
        Ok(key) => key.to_hex(),
        Err(_) => text.to_owned(),
    };
    // For npubs too: the key must be a point on the curve.
    parse_public_key(&hex).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

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
}
