use sha2::{Digest as _, Sha256};
use usher_protocol::message::PaymentHash;

use super::Token;
use crate::StreamId;

/// Matches a message to its operation: 128 bits of a SHA-256 over kind and value, which may be secret.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CorrelationKey([u8; 16]);

impl CorrelationKey {
    /// A handshake's token.
    pub fn token(token: &str) -> Self {
        Self::hash("token", token)
    }

    /// A reusable handshake, by its static token.
    pub fn static_token(token: &str) -> Self {
        Self::hash("static token", token)
    }

    /// A form of a reusable handshake's token in messages; unique among open handshakes.
    pub fn token_form(token: &str) -> Self {
        Self::hash("token form", token)
    }

    /// A reusable login, by its stream, to which the logins at it report.
    pub fn reusable_login(stream: StreamId) -> Self {
        Self::hash("reusable login", &stream.to_string())
    }

    /// A payment link, by its stream, to which the payments at it report.
    pub fn payment_link(stream: StreamId) -> Self {
        Self::hash("payment link", &stream.to_string())
    }

    /// An authentication's challenge.
    pub fn challenge(challenge: &str) -> Self {
        Self::hash("challenge", challenge)
    }

    /// A request, by the id that the wallet repeats in its reply.
    pub fn request(request_id: &str) -> Self {
        Self::hash("request", request_id)
    }

    /// An age verification, by its number; unique among open ones.
    pub fn age_check(number: u32) -> Self {
        Self::hash("age check", &number.to_string())
    }

    /// A subscription, by the id chosen by its wallet.
    pub fn subscription(subscription_id: &str) -> Self {
        Self::hash("subscription", subscription_id)
    }

    /// An invoice of the service, by its payment hash.
    pub fn invoice(hash: PaymentHash) -> Self {
        Self::hash("invoice", &hash.to_string())
    }

    /// An external invoice that is being paid, by its payment hash, so that it is never paid twice.
    pub fn paying(hash: PaymentHash) -> Self {
        Self::hash("paying", &hash.to_string())
    }

    /// A token that is being sent, to one user at a time.
    pub fn delivery(token: &Token) -> Self {
        Self::hash("ticket delivery", &token.0)
    }

    fn hash(what: &str, value: &str) -> Self {
        let digest = Sha256::new().chain_update(what).chain_update([0]).chain_update(value).finalize();
        let mut key = [0; 16];
        key.copy_from_slice(&digest[..16]);
        Self(key)
    }

    /// The key with these stored bytes.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The key's bytes.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

usher_protocol::debug_shows!(CorrelationKey(..));
