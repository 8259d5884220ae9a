//! The service's `nostrconnect://` address, which the user opens in a signer.

use url::Url;
use url::form_urlencoded::byte_serialize;
use usher_protocol::PublicKey;

/// The only permission requested of a signer: to sign the proof of a login (NIP-98).
pub(crate) const PERMISSIONS: &str = "sign_event:27235";

/// `nostrconnect://<our key>?relay=…&secret=…&perms=…&name=…&url=…`, with each value percent-encoded.
pub(crate) fn address(client: &PublicKey, relays: &[Url], secret: &str, name: &str, url: &str) -> String {
    let mut address = format!("nostrconnect://{}", client.to_hex());
    let relays = relays.iter().map(|relay| ("relay", relay.as_str()));
    let others = [("secret", secret), ("perms", PERMISSIONS), ("name", name), ("url", url)];
    for (index, (key, value)) in relays.chain(others.into_iter().filter(|(_, value)| !value.is_empty())).enumerate() {
        address.push(if index == 0 { '?' } else { '&' });
        address.push_str(key);
        address.push('=');
        // `byte_serialize` encodes a space as `+`, which signers take literally.
        let encoded: String = byte_serialize(value.as_bytes()).collect();
        address.push_str(&encoded.replace('+', "%20"));
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_is_percent_encoded() {
        let client = PublicKey::from_slice(&[7; 32]).unwrap();
        let relays = ["wss://relay.one/", "ws://127.0.0.1:7000/x?y=z&a"].map(|url| Url::parse(url).unwrap());
        let address = address(&client, &relays, "s3cret", "Café & Söhne", "https://login.example");
        assert_eq!(
            address,
            format!(
                "nostrconnect://{}?relay=wss%3A%2F%2Frelay.one%2F&relay=ws%3A%2F%2F127.0.0.1%3A7000%2Fx%3Fy%3Dz%26a&secret=s3cret\
                 &perms=sign_event%3A27235&name=Caf%C3%A9%20%26%20S%C3%B6hne&url=https%3A%2F%2Flogin.example",
                "07".repeat(32)
            )
        );
        let read = Url::parse(&address).unwrap();
        assert!(read.query_pairs().any(|(key, value)| key == "name" && value == "Café & Söhne"));
    }
}
