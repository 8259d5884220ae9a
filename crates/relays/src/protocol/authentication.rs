//! Telling a relay who we are (NIP-42).

use std::time::Duration;

use nostr::{EventBuilder, Keys, Kind, Tag, Timestamp};
use serde_json::json;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Utf8Bytes;
use usher_protocol::EventId;
use usher_token_bucket::{Rate, TokenBucket};

/// Most challenges answered in a minute: each costs a signature, and one per connection is ordinary.
const PER_MINUTE: u32 = 6;

/// Longest challenge that is answered, in bytes.
const MAX_CHALLENGE_BYTES: usize = 1024;

/// How far the authentication of one connection is.
#[derive(Debug)]
pub(super) struct Authentication {
    answer: Option<EventId>,
    settled: bool,
    allowance: TokenBucket<Instant>,
}

impl Authentication {
    pub(super) fn new(now: Instant) -> Self {
        let allowance = TokenBucket::new(Rate::full_after(PER_MINUTE, Duration::from_secs(60)), now);
        Self { answer: None, settled: false, allowance }
    }

    /// The answer to a challenge. It names the address that we dialled: a relay that passes on another relay's
    /// challenge gets nothing it could use there.
    pub(super) fn answer(
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
        self.answer = Some(event.id);
        self.settled = false;
        Some(json!(["AUTH", event]).to_string().into())
    }

    /// Whether the relay speaks of our last answer, for the first time: then nothing more is to be had.
    pub(super) fn settle(&mut self, id: EventId) -> bool {
        let ours = self.answer.take_if(|answer| *answer == id).is_some();
        self.settled |= ours;
        ours
    }

    /// Whether the relay has said what it thinks of our answer.
    pub(super) fn is_settled(&self) -> bool {
        self.settled
    }
}
