use std::fmt;
use std::time::Duration;

use async_trait::async_trait;

use super::{SettingStore, StoreError};
use crate::UnixMillis;

/// What the OpenID Connect provider keeps: records found by a secret (requests, sessions, codes, tokens), and consents.
/// Only the hash of each secret is stored. A damaged record is [`StoreError::Unreadable`]. Settings hold the signing
/// keys.
#[async_trait]
pub trait OpenIdStore: SettingStore {
    /// Adds records, all or none. One that is there already is replaced.
    async fn add_openid_records(&self, records: Vec<OpenIdRecord>) -> Result<(), StoreError>;

    /// The record with this id, used or not, expired or not.
    async fn openid_record(&self, id: OpenIdRecordId) -> Result<Option<OpenIdRecord>, StoreError>;

    /// Uses a record that can be used once, and writes what comes of it, in one transaction.
    async fn use_openid_record(&self, step: OpenIdStep) -> Result<OpenIdStepResult, StoreError>;

    /// Removes those of these records that are there.
    async fn drop_openid_records(&self, ids: Vec<OpenIdRecordId>) -> Result<(), StoreError>;

    /// How much more than `most` bytes the records of this quota take, and of this visitor if one is named; and which are to go
    /// first: those of the visitor, or of the one who has the most, that were used, the oldest first, then the others, the oldest
    /// first. Of these, `limit` at most after the first `skip`; none if they take no more. Visitors whose texts begin with the same
    /// [`WIDEST`](OpenIdRecord::WIDEST) characters are counted together, then of those who have the most those with the same
    /// [`WIDE`](OpenIdRecord::WIDE), then each.
    async fn openid_records_over(
        &self,
        quota: OpenIdQuota,
        visitor: Option<&str>,
        most: u64,
        skip: usize,
        limit: usize,
    ) -> Result<OpenIdExcess, StoreError>;

    /// What this user has agreed to give this client.
    async fn openid_consent(&self, client_id: &str, subject: &str) -> Result<Option<OpenIdConsent>, StoreError>;

    /// Consents in the order of client and user, after `after` (a client and a user), at most `limit`.
    async fn openid_consents(
        &self,
        after: Option<(String, String)>,
        limit: usize,
    ) -> Result<Vec<OpenIdConsent>, StoreError>;

    /// Removes a consent, and with it all records of this client and user; returns whether there was one.
    async fn revoke_openid_consent(&self, client_id: &str, subject: &str) -> Result<bool, StoreError>;

    /// Removes records expired before `before`, oldest first, at most `limit`; returns the contents, empty if damaged.
    async fn remove_openid_records(&self, before: UnixMillis, limit: usize) -> Result<Vec<String>, StoreError>;
}

/// Identifies a record: the SHA-256 of the secret that finds it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpenIdRecordId(pub [u8; 32]);

impl fmt::Debug for OpenIdRecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OpenIdRecordId(…)")
    }
}

/// Identifies a grant: a code and all tokens that come of it.
pub type OpenIdGrantId = [u8; 16];

/// What a record counts towards: each is bounded apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenIdQuota {
    /// Requests until the client has tokens: anybody can begin one.
    Requests,
    /// Sessions and tokens: anybody with a key can have them.
    Grants,
}

/// A record of the provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenIdRecord {
    /// The hash of its secret.
    pub id: OpenIdRecordId,
    /// The grant that it belongs to, if any: its records are removed together.
    pub grant: Option<OpenIdGrantId>,
    /// The client that it was made for, if any.
    pub client_id: Option<String>,
    /// The user that it concerns, if known: the main key in hex.
    pub subject: Option<String>,
    /// Its content as JSON.
    pub data: String,
    /// When it may be removed.
    pub expires_at: UnixMillis,
    /// Whether it has been used.
    pub used: bool,
    /// What it counts towards.
    pub quota: OpenIdQuota,
    /// Who has caused it; it is listed under this text.
    pub visitor: String,
    /// What it counts as: about the bytes that it takes, with everything that belongs to it.
    pub bytes: u64,
}

impl OpenIdRecord {
    /// Visitors whose texts begin with as many same characters are counted together.
    pub const WIDEST: usize = 24;
    /// And within them those with as many.
    pub const WIDE: usize = 40;
}

/// What is too much of the records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenIdExcess {
    /// How much.
    pub bytes: u64,
    /// What goes first.
    pub oldest: Vec<OldOpenIdRecord>,
}

/// A record that may be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OldOpenIdRecord {
    /// The hash of its secret.
    pub id: OpenIdRecordId,
    /// Its content as JSON; empty if it cannot be read.
    pub data: String,
    /// What it counts as.
    pub bytes: u64,
    /// Who has caused it.
    pub visitor: String,
}

/// What a use of a record changes.
#[derive(Clone, Debug)]
pub struct OpenIdStep {
    /// The record that is used.
    pub id: OpenIdRecordId,
    /// When.
    pub at: UnixMillis,
    /// For how long after its first use another one is [`OpenIdStepResult::UsedJustNow`].
    pub grace: Duration,
    /// Records to add.
    pub add: Vec<OpenIdRecord>,
    /// A consent to store in place of the last one of the same client and user.
    pub consent: Option<NewOpenIdConsent>,
}

/// A consent to store. The oldest ones make room for it.
#[derive(Clone, Debug)]
pub struct NewOpenIdConsent {
    /// The consent.
    pub consent: OpenIdConsent,
    /// Who gives it; it is listed under this text.
    pub visitor: String,
    /// How many there may be of this visitor.
    pub most_of_visitor: usize,
    /// How many there may be in all.
    pub most: usize,
}

/// The result of an [`OpenIdStep`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenIdStepResult {
    /// It is used now, and everything is on disk.
    Done,
    /// It had been used a moment ago, within [`OpenIdStep::grace`]; nothing was changed.
    UsedJustNow,
    /// It had been used before: its secret has leaked. The records of its grant were removed, and nothing was added.
    Replayed,
    /// There is no such record; nothing was changed.
    Unknown,
}

/// What a user has agreed to give a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenIdConsent {
    /// The client.
    pub client_id: String,
    /// The user: the main key in hex.
    pub subject: String,
    /// The scopes, separated by spaces.
    pub scopes: String,
    /// When the user agreed.
    pub at: UnixMillis,
}
