//! The port that finds and removes what is stored of a user.

use async_trait::async_trait;
use usher_protocol::PublicKey;

use super::{IdempotencyKey, StoreError};
use crate::{StreamId, UnixMillis};

/// What is stored of a user. Searches are reads that look at a bounded number of rows, so that commits do not wait for them.
#[async_trait]
pub trait UserStore: Send + Sync {
    /// Removes, in one transaction, what is stored under a user's key and nothing refers to: the session with their remote signer,
    /// their passkeys, and their consents and records of the OpenID Connect provider.
    async fn forget_user(&self, main_key: &PublicKey) -> Result<ForgottenUser, StoreError>;

    /// Removes a user's relays, with the session of their remote signer; returns whether the user was known.
    async fn forget_relays_of(&self, main_key: &PublicKey) -> Result<bool, StoreError>;

    /// Which of the operations after `after`, in order of id, have this text in their state. Looks at `limit` operations at most; the
    /// reserved one is not among them.
    async fn operations_with(
        &self,
        text: &str,
        after: Option<StreamId>,
        limit: usize,
    ) -> Result<Matches<StreamId, StreamId>, StoreError>;

    /// Which of the events after `after`, in order of stream and index, have this text in their data. Looks at `limit` events at most.
    async fn events_with(
        &self,
        text: &str,
        after: Option<EventPosition>,
        limit: usize,
    ) -> Result<Matches<EventMatch, EventPosition>, StoreError>;

    /// Which of the idempotency records after `after`, in order of key, have this text in their response, and when they were made.
    /// Looks at `limit` records at most.
    async fn idempotency_records_with(
        &self,
        text: &str,
        after: Option<IdempotencyKey>,
        limit: usize,
    ) -> Result<Matches<UnixMillis, IdempotencyKey>, StoreError>;

    /// Removes those of these operations that have finished and have no pending delivery, with all their data, as
    /// [`remove_finished`](super::Store::remove_finished) does; returns which.
    async fn remove_finished_of(&self, ids: Vec<StreamId>) -> Result<Vec<StreamId>, StoreError>;
}

/// Where an event is: its stream and index.
pub type EventPosition = (StreamId, u64);

/// What was removed of a user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForgottenUser {
    /// Whether a session with a remote signer was.
    pub signer: bool,
    /// How many passkeys.
    pub passkeys: usize,
    /// How many apps the user had agreed to give something.
    pub consents: usize,
    /// How many records of the OpenID Connect provider: sessions, codes and tokens.
    pub openid_records: usize,
}

/// What a search has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matches<F, P> {
    /// In the order of the search.
    pub found: Vec<F>,
    /// Where the next search continues; `None`: there is nothing after it.
    pub next: Option<P>,
}

/// An event that has a text in its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventMatch {
    /// Its stream.
    pub stream: StreamId,
    /// When it happened.
    pub at: UnixMillis,
    /// Its data.
    pub data: String,
}
