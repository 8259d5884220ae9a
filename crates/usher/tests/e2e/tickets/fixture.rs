//! The service and the mint of the ticket tests.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};
use usher_mint::{Mint, MintOptions};
use usher_sandbox::relay::EmbeddedRelay;

use crate::harness::{Builder, CallError, TestUsher};

pub(super) const UNIT: &str = "multi";

pub(super) const AUTH: &str = "token-of-the-mint-s3cret";

/// A service, and an operator's own mint.
pub(super) struct Fixture {
    pub(super) mint: Mint,
    pub(super) usher: TestUsher,
    _relay: EmbeddedRelay,
}

impl Fixture {
    pub(super) async fn open_with(set: impl FnOnce(Builder) -> Builder) -> Self {
        let mint = Mint::start(MintOptions::new().auth_token(AUTH)).await.unwrap();
        Self::with(mint, set).await
    }

    pub(super) async fn with(mint: Mint, set: impl FnOnce(Builder) -> Builder) -> Self {
        let relay = EmbeddedRelay::start().await.unwrap();
        let builder = TestUsher::builder().relays(&[relay.url()]).set("CASHU__ALLOW_PRIVATE_MINTS", true);
        Self { mint, usher: set(builder).start().await, _relay: relay }
    }

    /// The fields of a request for an amount.
    pub(super) fn amount(&self, amount: u64) -> Value {
        json!({ "mint_url": self.mint.url(), "unit": UNIT, "amount": amount, "static_token": AUTH })
    }

    /// The fields of a request about a token.
    pub(super) fn token(&self, token: &str) -> Value {
        json!({ "mint_url": self.mint.url(), "unit": UNIT, "token": token, "static_token": AUTH })
    }

    /// Posts with a key of its own.
    pub(super) async fn post(&self, path: &str, body: &Value) -> Result<Value, CallError> {
        self.usher.api().post_once(path, &key(), body).await.map(|(response, _)| response)
    }

    /// What the service holds at the mint.
    pub(super) async fn balance(&self) -> u64 {
        let response = self.usher.api().get("/cashu/balances").await.unwrap();
        let balances = response["balances"].as_array().unwrap();
        let ours = balances.iter().find(|balance| balance["mint_url"] == self.mint.url() && balance["unit"] == UNIT);
        ours.map_or(0, |balance| balance["amount"].as_u64().unwrap())
    }
}

/// An unused idempotency key.
pub(super) fn key() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("key-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The secrets of a token's proofs, which are texts of 64 hex characters in its CBOR.
pub(super) fn secrets(token: &str) -> Vec<String> {
    use base64::Engine as _;
    let encoded = token.strip_prefix("cashuB").unwrap().trim_end_matches('=');
    let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(encoded).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    let words = text.split(|char: char| !char.is_ascii_hexdigit());
    let secrets: Vec<_> =
        words.filter(|word| word.len() >= 64).map(|word| word[word.len() - 64..].to_owned()).collect();
    assert!(!secrets.is_empty(), "a token has proofs");
    secrets
}
