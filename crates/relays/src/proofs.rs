//! Our own subkey proof, for those who know only our main key (wallet-protocol.md section 6).

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use lru::LruCache;
use nostr::{Event, EventId, PublicKey};
use parking_lot::Mutex;
use tokio::time::Instant;
use usher_engine::UnixMillis;
use usher_protocol::{envelope, kind};

use crate::Identity;
use crate::bucket::Bucket;
use crate::conversations::Conversations;
use crate::counters::{Counters, add};
use crate::options::Limits;

/// Authors whose requests are counted; beyond them the limit for all together holds.
const AUTHORS: usize = 1024;

/// Answers events that we cannot read with our proof: a few per author and not too many in all, since anybody can
/// write to our main key what we cannot read.
pub(crate) struct Proofs {
    identity: Identity,
    proof: String,
    per_author: u32,
    conversations: Arc<Conversations>,
    counters: Arc<Counters>,
    limits: Mutex<Counting>,
}

struct Counting {
    all: Bucket,
    authors: LruCache<PublicKey, Bucket>,
    last_created_at: u64,
}

impl Proofs {
    /// `None` when we run on our main key, and there is nothing to prove.
    pub(crate) fn new(
        identity: &Identity,
        limits: &Limits,
        conversations: Arc<Conversations>,
        counters: Arc<Counters>,
    ) -> Option<Self> {
        let proof = serde_json::to_string(identity.subkey_proof.as_ref()?).ok()?;
        let all = Bucket::new(limits.proofs, f64::from(limits.proofs_per_second), Instant::now());
        let authors = LruCache::new(NonZeroUsize::new(AUTHORS).unwrap_or(NonZeroUsize::MIN));
        Some(Self {
            identity: identity.clone(),
            proof,
            per_author: limits.proofs_per_author,
            conversations,
            counters,
            limits: Mutex::new(Counting { all, authors, last_created_at: 0 }),
        })
    }

    /// The answer to `event` of `author`, or `None` when there were too many.
    pub(crate) fn answer(&self, author: PublicKey, event: EventId, now: UnixMillis) -> Option<Event> {
        let Some(created_at) = self.admit(author, now) else {
            add(&self.counters.proofs_withheld);
            return None;
        };
        let conversation = self.conversations.with(&author).ok()?;
        let keys = &self.identity.keys;
        let sealed =
            envelope::seal(keys, &conversation, &[author], Some(event), kind::SUBKEY_PROOF, &self.proof, created_at);
        let sealed = sealed.ok()?;
        add(&self.counters.proofs_sent);
        Some(sealed)
    }

    /// The `created_at` of the answer. Kind 30000 is addressable: of two proofs of ours with the same second a relay may
    /// forward one alone, so each is a second later than the last. The limit for all together keeps that close to now.
    fn admit(&self, author: PublicKey, now: UnixMillis) -> Option<u64> {
        let instant = Instant::now();
        let mut limits = self.limits.lock();
        let minute = Duration::from_secs(60);
        let fresh = || Bucket::refilling_in(self.per_author, minute, instant);
        if !limits.authors.get_or_insert_mut(author, fresh).take(instant) || !limits.all.take(instant) {
            return None;
        }
        limits.last_created_at = now.secs().max(limits.last_created_at.saturating_add(1));
        Some(limits.last_created_at)
    }
}
