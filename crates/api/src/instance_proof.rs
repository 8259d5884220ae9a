//! Lets a command on this machine verify, before it sends the token, that a program is the instance of its data
//! directory: the response to a request with a random challenge has a MAC over it.
//!
//! The MAC is also over the address at which the connection arrived. A program that occupies a port of the service and
//! relays the challenge reaches the instance at another address, so it gets a MAC that is invalid for its own. Requests
//! through a proxy get a different MAC, which shows only that an address leads to the service.

use std::net::SocketAddr;

use axum::extract::Request;
use hmac::{Hmac, Mac as _};
use http::{HeaderName, HeaderValue};
use sha2::Sha256;

use crate::forwarding_key::hmac;
use crate::local_request::names_proxy;

/// The header of the challenge: 64 hex characters.
pub const USHER_CHALLENGE: HeaderName = HeaderName::from_static("usher-challenge");

/// The header of the proof.
pub const USHER_PROOF: HeaderName = HeaderName::from_static("usher-proof");

/// A secret that the instance and the commands of its data directory derive from its configuration.
#[derive(Clone)]
pub struct InstanceKey(Hmac<Sha256>);

impl InstanceKey {
    /// The key with this secret.
    pub fn new(secret: [u8; 32]) -> Self {
        Self(hmac(secret))
    }

    /// Whether this proves that the program that responded to the challenge at `address` is the instance.
    pub fn is_proof(&self, proof: &str, challenge: &str, address: SocketAddr) -> bool {
        self.is_mac(proof, challenge, &place(address))
    }

    /// Whether this shows that the challenge has reached the service, directly or through others.
    pub fn is_trace(&self, proof: &str, challenge: &str, address: Option<SocketAddr>) -> bool {
        self.is_mac(proof, challenge, BY_PROXY)
            || address.is_some_and(|address| self.is_proof(proof, challenge, address))
    }

    fn is_mac(&self, proof: &str, challenge: &str, place: &str) -> bool {
        hex::decode(proof).is_ok_and(|proof| self.mac(challenge, place).verify_slice(&proof).is_ok())
    }

    fn mac(&self, challenge: &str, place: &str) -> Hmac<Sha256> {
        self.0.clone().chain_update(challenge).chain_update("\n").chain_update(place)
    }
}

/// Replaces the address in requests forwarded by a proxy.
const BY_PROXY: &str = "by way of a proxy";

fn place(address: SocketAddr) -> String {
    SocketAddr::new(address.ip().to_canonical(), address.port()).to_string()
}

usher_protocol::debug_shows!(InstanceKey(..));

/// Responds to challenges at the address of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Prover {
    pub(crate) key: InstanceKey,
    pub(crate) address: SocketAddr,
}

impl Prover {
    /// The response to the challenge of this request, if it has one.
    pub(crate) fn answer(&self, request: &Request) -> Option<HeaderValue> {
        let challenge = request.headers().get(USHER_CHALLENGE)?.to_str().ok()?;
        if challenge.len() != 64 || !challenge.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let place = if names_proxy(request.headers()) { BY_PROXY.to_owned() } else { place(self.address) };
        let mac = self.key.mac(challenge, &place).finalize().into_bytes();
        HeaderValue::from_str(&hex::encode(mac)).ok()
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    #[test]
    fn a_proof_is_good_for_one_challenge_at_one_address_with_one_key() {
        let (challenge, other) = ("5e".repeat(32), "5f".repeat(32));
        let (address, elsewhere) = ("127.0.0.1:3000".parse().unwrap(), "127.0.0.1:3001".parse().unwrap());
        let key = InstanceKey::new([7; 32]);
        let request =
            |challenge: &str| Request::builder().header(USHER_CHALLENGE, challenge).body(Body::empty()).unwrap();
        let prover = Prover { key: key.clone(), address };
        let proof = prover.answer(&request(&challenge)).unwrap();
        let proof = proof.to_str().unwrap();
        assert!(key.is_proof(proof, &challenge, address));
        // The same address, on a dual-stack socket.
        assert!(key.is_proof(proof, &challenge, "[::ffff:127.0.0.1]:3000".parse().unwrap()));
        assert!(!key.is_proof(proof, &other, address));
        assert!(!key.is_proof(proof, &challenge, elsewhere), "passed on by a program at another port");
        assert!(!InstanceKey::new([8; 32]).is_proof(proof, &challenge, address));
        for forged in ["", "00", &challenge, "not hex"] {
            assert!(!key.is_proof(forged, &challenge, address), "{forged}");
        }
        for unfit in ["", "5e", &format!("{challenge}5e"), &"é".repeat(32)] {
            let mut request = request(&challenge);
            request.headers_mut().insert(USHER_CHALLENGE, HeaderValue::from_bytes(unfit.as_bytes()).unwrap());
            assert!(prover.answer(&request).is_none(), "{unfit}");
        }
        let mut forwarded = request(&challenge);
        forwarded.headers_mut().insert("x-forwarded-for", HeaderValue::from_static("198.51.100.7"));
        let trace = prover.answer(&forwarded).unwrap();
        let trace = trace.to_str().unwrap();
        assert!(!key.is_proof(trace, &challenge, address), "a proxy at another port of the same network namespace");
        assert!(key.is_trace(trace, &challenge, None) && !key.is_trace(trace, &other, None));
        assert!(key.is_trace(proof, &challenge, Some(address)) && !key.is_trace(proof, &challenge, Some(elsewhere)));
    }
}
