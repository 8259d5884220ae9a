//! Our own subkey proof, for wallets that know only our main key (docs/protocol.md, Subkeys).

use std::sync::Arc;
use std::time::Duration;

use nostr::{Event, EventId, PublicKey};
use parking_lot::Mutex;
use tokio::time::Instant;
use usher_engine::UnixMillis;
use usher_places::Rates;
use usher_protocol::{envelope, kind};
use usher_token_bucket::{Rate, TokenBucket};

use crate::conversation_keys::ConversationKeys;
use crate::identity::Identity;
use crate::metrics::Metrics;
use crate::options::Limits;
use crate::relay_address::RelayAddress;
use crate::relay_status::Origin;

/// Most proofs sent to one author per minute.
const PROOFS_PER_AUTHOR: u32 = 3;

/// Authors whose requests are counted; others are limited per relay.
const AUTHORS: usize = 8192;

/// Relays that are counted: more than are ever connected.
const RELAYS: usize = 256;

/// Responds with our proof to events that we cannot read. Anybody can send such events, so responses are limited per
/// author, per relay and in total.
///
/// In this order, so that no author uses up a relay's share, and no relay the total. Relays named by users share a
/// quarter of the total, because their owners can generate authors.
pub(crate) struct SubkeyProofResponder {
    identity: Identity,
    proof: String,
    conversation_keys: Arc<ConversationKeys>,
    metrics: Arc<Metrics>,
    limits: Mutex<Counting>,
}

struct Counting {
    authors: Rates<PublicKey, Instant>,
    relays: Rates<RelayAddress, Instant>,
    over_ours: TokenBucket<Instant>,
    over_users: TokenBucket<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProofLimited {
    /// The author has used up their share, or no response is needed.
    PerAuthor,
    /// This relay's share is used up; another relay may deliver the event.
    PerRelay,
}

impl SubkeyProofResponder {
    /// `None` when the service runs on its main key: there is nothing to prove.
    pub(crate) fn new(
        identity: &Identity,
        limits: &Limits,
        conversation_keys: Arc<ConversationKeys>,
        metrics: Arc<Metrics>,
    ) -> Option<Self> {
        let proof = serde_json::to_string(identity.subkey_proof.as_ref()?).ok()?;
        let (now, per_second) = (Instant::now(), f64::from(limits.proofs_per_second));
        let counting = Counting {
            authors: Rates::new(Rate::full_after(PROOFS_PER_AUTHOR, Duration::from_secs(60)), AUTHORS),
            relays: Rates::new(Rate::per_second(limits.proofs / 2, per_second / 2.0), RELAYS),
            over_ours: TokenBucket::new(Rate::per_second(limits.proofs, per_second), now),
            over_users: TokenBucket::new(Rate::per_second(limits.proofs / 4, per_second / 4.0), now),
        };
        Some(Self { identity: identity.clone(), proof, conversation_keys, metrics, limits: Mutex::new(counting) })
    }

    pub(crate) fn answer(
        &self,
        author: PublicKey,
        event: EventId,
        over: &RelayAddress,
        origin: Origin,
        now: UnixMillis,
    ) -> Result<Event, ProofLimited> {
        self.admit(author, over, origin).inspect_err(|_| self.metrics.proofs_withheld.add(1))?;
        let conversation = self.conversation_keys.with(&author).map_err(|_| ProofLimited::PerAuthor)?;
        let keys = &self.identity.keys;
        let sealed =
            envelope::seal(keys, &conversation, &[author], Some(event), kind::SUBKEY_PROOF, &self.proof, now.secs());
        let sealed = sealed.map_err(|_| ProofLimited::PerAuthor)?;
        self.metrics.proofs_sent.add(1);
        Ok(sealed)
    }

    fn admit(&self, author: PublicKey, over: &RelayAddress, origin: Origin) -> Result<(), ProofLimited> {
        let now = Instant::now();
        let mut limits = self.limits.lock();
        let Counting { authors, relays, over_ours, over_users } = &mut *limits;
        let of_author = authors.of(author, now);
        if !of_author.take(now) {
            return Err(ProofLimited::PerAuthor);
        }
        let of_relay = relays.of(over.clone(), now);
        let together = match origin {
            Origin::Configured => over_ours,
            Origin::User => over_users,
        };
        if !of_relay.take(now) || !together.take(now) {
            of_author.give_back(1.0);
            return Err(ProofLimited::PerRelay);
        }
        Ok(())
    }
}
