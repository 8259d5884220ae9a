//! Authentication to the relay (NIP-42).

use std::time::Duration;

use nostr::{EventBuilder, EventId, Keys, Kind, Tag, Timestamp};
use serde_json::json;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Utf8Bytes;
use usher_token_bucket::{Rate, TokenBucket};

/// Most challenges answered per minute: each costs a signature, and one per connection is usual.
const PER_MINUTE: u32 = 6;

/// Longest challenge accepted, in bytes.
const MAX_CHALLENGE_BYTES: usize = 1024;

#[derive(Debug)]
pub(super) struct Authentication {
    response: Option<EventId>,
    settled: bool,
    allowance: TokenBucket<Instant>,
}

impl Authentication {
    pub(super) fn new(now: Instant) -> Self {
        let allowance = TokenBucket::new(Rate::full_after(PER_MINUTE, Duration::from_secs(60)), now);
        Self { response: None, settled: false, allowance }
    }

    /// The response to a challenge, with the address that we dialled: a relay cannot forward another's challenge.
    pub(super) fn respond(
        &mut self,
        keys: &Keys,
        address: &str,
        challenge: &str,
        created_at: u64,
        now: Instant,
    ) -> Option<Utf8Bytes> {
        if challenge.len() > MAX_CHALLENGE_BYTES || !self.allowance.take(now) {
            return None;
        }
        let tags = [["relay", address], ["challenge", challenge]];
        let tags = tags.into_iter().filter_map(|tag| Tag::parse(tag).ok());
        let event = EventBuilder::new(Kind::Authentication, "")
            .tags(tags)
            .custom_created_at(Timestamp::from_secs(created_at))
            .sign_with_keys(keys)
            .ok()?;
        self.response = Some(event.id);
        self.settled = false;
        Some(json!(["AUTH", event]).to_string().into())
    }

    pub(super) fn settle(&mut self, id: EventId) -> bool {
        let ours = self.response.take_if(|response| *response == id).is_some();
        self.settled |= ours;
        ours
    }

    pub(super) const fn is_pending(&self) -> bool {
        self.response.is_some()
    }

    pub(super) const fn is_settled(&self) -> bool {
        self.settled
    }
}
