//! A service whose proofs of age come from an operator's own mint, and what it may not keep.

use serde_json::json;
use usher_mint::{Mint, MintOptions};
use usher_testing::relay::QuirkyRelay;

use crate::harness::{Builder, TestUsher, files_below};

const AUTH: &str = "token-of-the-mint-s3cret";

/// A service with a mint for its proofs.
pub(super) struct Fixture {
    pub(super) mint: Mint,
    pub(super) usher: TestUsher,
    pub(super) relay: QuirkyRelay,
}

impl Fixture {
    /// Logs everything that anything in the program logs.
    pub(super) async fn open(set: impl FnOnce(Builder) -> Builder) -> Self {
        let mint = Mint::start(MintOptions::new().auth_token(AUTH)).await.unwrap();
        let builder = TestUsher::builder()
            .set("CASHU__ALLOW_PRIVATE_MINTS", true)
            .set("VERIFICATION__MINT_URL", mint.url())
            .set("VERIFICATION__MINT_TOKEN", AUTH)
            .log_level("trace");
        let (relay, usher) = set(builder).start_at_relay().await;
        Self { mint, usher, relay }
    }

    /// Waits for the proof of this session, and redeems it, once.
    pub(super) async fn redeem(&self, session: &str) {
        let api = self.usher.api();
        let event = api.outcome(session).await;
        assert_eq!((event.kind.as_str(), event.status()), ("CashuResponse", "success"), "{:?}", event.data);
        let burn = json!({
            "mint_url": self.mint.url(), "unit": "multi", "token": event.data["token"], "static_token": AUTH
        });
        assert_eq!(api.post("/cashu/burn", &burn).await.unwrap(), json!({ "amount": 1 }));
        assert!(api.post("/cashu/burn", &burn).await.is_err(), "a proof is redeemed once");
    }

    /// No file that the program has written, its log included, has any of these words, also after it has stopped.
    pub(super) async fn keeps_nothing_of(&mut self, words: &[String]) {
        assert!(!words.is_empty() && words.iter().all(|word| word.len() >= 5), "{words:?}");
        self.has_nothing_of(words);
        let events = self.usher.api().get("/events/subscriptions?after=0").await.unwrap().to_string();
        assert!(!words.iter().any(|word| events.contains(word)));
        assert!(self.usher.stop().await.success());
        self.has_nothing_of(words);
    }

    fn has_nothing_of(&self, words: &[String]) {
        // The log is beside the data directory.
        for (file, content) in files_below(self.usher.data_dir().parent().unwrap()) {
            let content = String::from_utf8_lossy(&content).to_lowercase();
            for word in words {
                assert!(!content.contains(&word.to_lowercase()), "{word} is in {file}");
            }
        }
    }
}
