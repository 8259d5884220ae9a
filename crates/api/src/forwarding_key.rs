//! Requests forwarded by another instance of this service, and the addresses of their clients.

use std::net::IpAddr;

use axum::extract::Request;
use hmac::digest::KeyInit;
use hmac::{Hmac, Mac as _};
use http::{HeaderName, HeaderValue};
use sha2::Sha256;

use crate::peer_address::Peer;

/// The header of a forwarded request: the client's address, a space, and a MAC in hex that proves that an instance of
/// this service wrote it. Removed from clients' requests.
pub(crate) const USHER_FORWARDED: HeaderName = HeaderName::from_static("usher-forwarded");

/// HMAC with this key.
pub(crate) fn hmac(key: [u8; 32]) -> Hmac<Sha256> {
    // Padded with zeros to a block, as HMAC does.
    let mut block = [0; 64];
    block[..32].copy_from_slice(&key);
    KeyInit::new(block.as_slice().into())
}

/// A secret shared by all instances of one service.
#[derive(Clone)]
pub struct ForwardingKey(Hmac<Sha256>);

impl ForwardingKey {
    /// The key with this secret.
    pub fn new(secret: [u8; 32]) -> Self {
        Self(hmac(secret))
    }

    /// The value of [`USHER_FORWARDED`] for a request of this client. Never `None`: the value is visible ASCII.
    pub(crate) fn header_value(&self, client: IpAddr, request: &Request) -> Option<HeaderValue> {
        let client = client.to_string();
        let mac = hex::encode(self.mac(&client, request).finalize().into_bytes());
        HeaderValue::from_str(&format!("{client} {mac}")).ok()
    }

    /// The client of a request forwarded by another instance; `None` otherwise.
    pub(crate) fn client(&self, request: &Request) -> Option<Peer> {
        let (client, mac) = request.headers().get(USHER_FORWARDED)?.to_str().ok()?.split_once(' ')?;
        self.mac(client, request).verify_slice(&hex::decode(mac).ok()?).ok()?;
        client.parse().ok().map(Peer)
    }

    /// A MAC over the address, the method and the target: it is invalid for any other request.
    fn mac(&self, client: &str, request: &Request) -> Hmac<Sha256> {
        let mut mac = self.0.clone();
        let target = request.uri().path_and_query().map_or("/", |target| target.as_str());
        for part in [client, "\n", request.method().as_str(), "\n", target] {
            mac.update(part.as_bytes());
        }
        mac
    }
}

usher_protocol::debug_shows!(ForwardingKey(..));

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    fn forwarded(key: &ForwardingKey, client: &str, method: &str, target: &str) -> Request {
        let mut request = Request::builder().method(method).uri(target).body(Body::empty()).unwrap();
        let value = key.header_value(client.parse().unwrap(), &request).unwrap();
        request.headers_mut().insert(USHER_FORWARDED, value);
        request
    }

    #[test]
    fn client_is_believed_only_with_the_key_and_for_this_request() {
        let (key, other) = (ForwardingKey::new([7; 32]), ForwardingKey::new([8; 32]));
        for client in ["198.51.100.7", "2001:db8::7"] {
            let request = forwarded(&key, client, "GET", "/pages/x?y=1");
            assert_eq!(key.client(&request).map(|Peer(address)| address.to_string()).as_deref(), Some(client));
            assert!(other.client(&request).is_none());
            for (method, target) in [("POST", "/pages/x?y=1"), ("GET", "/pages/x"), ("GET", "/pages/x?y=2")] {
                let mut replayed = forwarded(&key, client, method, target);
                replayed.headers_mut().insert(USHER_FORWARDED, request.headers()[USHER_FORWARDED].clone());
                assert!(key.client(&replayed).is_none(), "{method} {target}");
            }
        }
        for value in ["", " ", "198.51.100.7", "198.51.100.7 ", "198.51.100.7 00", "198.51.100.7 zz"] {
            let mut request = forwarded(&key, "198.51.100.7", "GET", "/");
            request.headers_mut().insert(USHER_FORWARDED, HeaderValue::from_static(value));
            assert!(key.client(&request).is_none(), "{value:?}");
        }
    }
}
