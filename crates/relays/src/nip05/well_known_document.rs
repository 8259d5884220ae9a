//! The document that a domain returns: untrusted input.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;
use usher_engine::ports::{Nip05, Nip05Answer};
use usher_protocol::PublicKey;
use usher_protocol::keys::parse_public_key;

use crate::relay_address::RelayAddress;

/// Largest document read, in bytes. Domains with thousands of names return only the requested one.
pub(super) const MAX_DOCUMENT_BYTES: usize = 64 * 1024;

const MAX_RELAYS: usize = 16;

#[derive(Deserialize)]
struct WellKnownDocument {
    names: HashMap<String, Value>,
    /// Optional; if invalid, only the relays are dropped.
    #[serde(default)]
    relays: Value,
}

/// The key that `body` gives to `identifier`'s name; the NIP requires lower-case hexadecimal. Keeps those relays whose
/// addresses a user may name (any, with `allow_private`).
pub(super) fn read(body: &[u8], identifier: &Nip05, allow_private: bool) -> Option<Nip05Answer> {
    let document: WellKnownDocument = serde_json::from_slice(body).ok()?;
    let hex = document.names.get(identifier.name())?.as_str()?;
    let pubkey = parse_public_key(hex).ok().filter(|key| key.to_hex() == hex)?;
    Some(Nip05Answer { pubkey, relays: relays(&document.relays, &pubkey, allow_private) })
}

fn relays(all: &Value, key: &PublicKey, allow_private: bool) -> Vec<String> {
    let parse = if allow_private { RelayAddress::parse } else { RelayAddress::parse_from_user };
    let mut relays = Vec::new();
    let named = all.get(key.to_hex()).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    for address in named.iter().take(4 * MAX_RELAYS).filter_map(|relay| parse(relay.as_str()?).ok()) {
        let address = address.to_string();
        if relays.len() < MAX_RELAYS && !relays.contains(&address) {
            relays.push(address);
        }
    }
    relays
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const KEY: &str = "3bf0c63fcb93463407af97a5e5ee64fa883d107ef9e558472c4eb9aaaefa459d";

    fn bob() -> Nip05 {
        "bob@example.com".parse().unwrap()
    }

    fn read_json(value: &Value) -> Option<Nip05Answer> {
        read(value.to_string().as_bytes(), &bob(), false)
    }

    #[test]
    fn valid_document_is_read() {
        let answer = read_json(&json!({
            "names": {"bob": KEY, "alice": 7},
            "relays": {KEY: ["wss://Relay.Example/", "wss://relay.example", "ws://127.0.0.1", "https://x.example", 1, null]},
        }));
        let answer = answer.unwrap();
        assert_eq!(answer.pubkey.to_hex(), KEY);
        assert_eq!(answer.relays, ["wss://relay.example"]);
    }

    #[test]
    fn relays_are_optional_and_bounded() {
        for relays in [json!(null), json!([]), json!("x"), json!({KEY: "wss://a.example"}), json!({"other": []})] {
            assert_eq!(read_json(&json!({"names": {"bob": KEY}, "relays": relays})).unwrap().relays.len(), 0);
        }
        let many: Vec<_> = (0..1000).map(|n| format!("wss://r{n}.example")).collect();
        let answer = read_json(&json!({"names": {"bob": KEY}, "relays": {KEY: many}})).unwrap();
        assert_eq!(answer.relays.len(), MAX_RELAYS);
    }

    #[test]
    fn invalid_documents_are_refused() {
        for value in [
            json!({"names": {"alice": KEY}}),
            json!({"names": {"Bob": KEY}}),
            json!({"names": {"bob": KEY.to_uppercase()}}),
            json!({"names": {"bob": "npub180cvv07tjdrrgpa0j7j7tmnyl2yr6yr7l8j4s3evf6u64th6gkwsyjh6w6"}}),
            json!({"names": {"bob": format!(" {KEY}")}}),
            json!({"names": {"bob": "0".repeat(64)}}),
            json!({"names": {"bob": [KEY]}}),
            json!({"names": ["bob"]}),
            json!({"bob": KEY}),
            json!([]),
        ] {
            assert_eq!(read_json(&value), None, "{value}");
        }
        assert_eq!(read(b"<html>", &bob(), false), None);
        assert_eq!(read(&[0xff; 100], &bob(), false), None);
    }
}
