//! The port that finds and removes a user's stored data.

use async_trait::async_trait;
use usher_protocol::PublicKey;

use super::{IdempotencyKey, OpenIdConsent, StoreError};
use crate::{StreamId, UnixMillis};

/// The stored data of users. Searches read a bounded number of rows, so that commits do not wait for them.
#[async_trait]
pub trait UserStore: Send + Sync {
    /// Removes in one transaction a user's unreferenced data: the session with their remote signer, their passkeys, the
    /// records of their logins, and their consents and records of the OpenID Connect provider.
    async fn forget_user(&self, main_key: &PublicKey) -> Result<ForgottenUser, StoreError>;

    /// Removes a user's relays, with the session of their remote signer; returns whether the user was known.
    async fn forget_relays_of(&self, main_key: &PublicKey) -> Result<bool, StoreError>;

    /// What is stored under a user's key.
    async fn user_records(&self, main_key: &PublicKey) -> Result<UserRecords, StoreError>;

    /// Finds this text in the states of operations and in the events of streams after `after`, in order of id. Reads at
    /// most `limit` operations, and all events between them. The text has neither `*` nor `?` nor `[`.
    async fn streams_with(
        &self,
        text: &str,
        after: Option<StreamId>,
        limit: usize,
    ) -> Result<StreamMatches, StoreError>;

    /// Finds idempotency records after `after`, in order of key, with this text in their response, and their times.
    /// Reads at most `limit` records.
    async fn idempotency_records_with(
        &self,
        text: &str,
        after: Option<IdempotencyKey>,
        limit: usize,
    ) -> Result<Matches<UnixMillis, IdempotencyKey>, StoreError>;

    /// Removes those of these operations that have finished without pending deliveries, with all their data, like
    /// [`remove_finished`](super::Store::remove_finished); returns which.
    async fn remove_finished_of(&self, ids: Vec<StreamId>) -> Result<Vec<StreamId>, StoreError>;
}

/// What is stored under a user's key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserRecords {
    /// The passkeys, in the order of registration: a few.
    pub passkeys: Vec<UserPasskey>,
    /// The apps to which they agreed, by client id: at most one for each client.
    pub consents: Vec<OpenIdConsent>,
    /// Whether there is a session with a remote signer.
    pub signer: bool,
    /// When their relays were last named or used, if they are known.
    pub relays_at: Option<UnixMillis>,
}

/// A passkey of a user, without its keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserPasskey {
    /// The id of its credential.
    pub id: Vec<u8>,
    /// When it was registered.
    pub created_at: UnixMillis,
    /// When it was last used.
    pub used_at: UnixMillis,
}

/// What was removed of a user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForgottenUser {
    /// Whether a session with a remote signer was removed.
    pub signer: bool,
    /// The number of passkeys.
    pub passkeys: usize,
    /// The number of records of logins.
    pub logins: usize,
    /// The number of consents for apps.
    pub consents: usize,
    /// The number of records of the OpenID Connect provider: sessions, codes and tokens.
    pub openid_records: usize,
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matches<F, P> {
    /// In the order of the search.
    pub found: Vec<F>,
    /// Where the next search continues; `None` at the end.
    pub next: Option<P>,
}

/// Where a text was found in streams.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamMatches {
    /// The operations with the text in their state, without the reserved one.
    pub operations: Vec<StreamId>,
    /// The events with the text in their data, by stream and index.
    pub events: Vec<EventMatch>,
    /// Where the next search continues; `None` at the end.
    pub next: Option<StreamId>,
}

/// An event that has a text in its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventMatch {
    /// Its stream.
    pub stream: StreamId,
    /// Its time.
    pub at: UnixMillis,
    /// Its data.
    pub data: String,
}
