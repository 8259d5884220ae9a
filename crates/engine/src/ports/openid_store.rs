use std::time::Duration;

use async_trait::async_trait;

use super::{SettingStore, StoreError};
use crate::UnixMillis;

/// The storage of the OpenID Connect provider: records found by a secret (requests, sessions, codes, tokens), and
/// consents. Only the hash of each secret is stored. A damaged record is [`StoreError::Unreadable`]. Settings hold the
/// signing keys.
#[async_trait]
pub trait OpenIdStore: SettingStore {
    /// Adds records, all or none, replacing existing ones.
    async fn add_openid_records(&self, records: Vec<OpenIdRecord>) -> Result<(), StoreError>;

    /// The record with this id, used or not, expired or not.
    async fn openid_record(&self, id: OpenIdRecordId) -> Result<Option<OpenIdRecord>, StoreError>;

    /// Uses a single-use record, and writes its successors, in one transaction.
    async fn use_openid_record(&self, step: OpenIdStep) -> Result<OpenIdStepResult, StoreError>;

    /// Removes these records if they exist.
    async fn drop_openid_records(&self, ids: Vec<OpenIdRecordId>) -> Result<(), StoreError>;

    /// By how much the records of this quota (and of this visitor, if given) exceed `most` bytes, and which to remove
    /// first: those of the visitor, or of the largest one, used ones before unused ones, oldest first. Of these, at
    /// most `limit` after the first `skip`; none without an excess. Visitors with the same
    /// [`WIDEST`](OpenIdRecord::WIDEST) first characters are counted together, then within the largest such group those
    /// with the same [`WIDE`](OpenIdRecord::WIDE), then each.
    async fn openid_records_over(
        &self,
        quota: OpenIdQuota,
        visitor: Option<&str>,
        most: u64,
        skip: usize,
        limit: usize,
    ) -> Result<OpenIdExcess, StoreError>;

    /// This user's consent for this client.
    async fn openid_consent(&self, client_id: &str, subject: &str) -> Result<Option<OpenIdConsent>, StoreError>;

    /// At most `limit` consents after `after` (a client and a user), in the order of client and user.
    async fn openid_consents(
        &self,
        after: Option<(String, String)>,
        limit: usize,
    ) -> Result<Vec<OpenIdConsent>, StoreError>;

    /// Removes a consent, and all records of this client and user; returns whether there was one.
    async fn revoke_openid_consent(&self, client_id: &str, subject: &str) -> Result<bool, StoreError>;

    /// Sets the setting `name` and removes what there is of a client, in one transaction.
    async fn set_openid_clients(
        &self,
        name: &str,
        value: &str,
        client_id: &str,
        removed: OfOpenIdClient,
    ) -> Result<(), StoreError>;

    /// Removes at most `limit` records expired before `before`, oldest first; returns the contents, empty if damaged.
    async fn remove_openid_records(&self, before: UnixMillis, limit: usize) -> Result<Vec<String>, StoreError>;
}

/// What is removed of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfOpenIdClient {
    /// Nothing.
    Nothing,
    /// Its requests and codes ([`OpenIdQuota::Requests`]).
    Requests,
    /// All records, and users' consents.
    Everything,
}

/// Identifies a record: the SHA-256 of the secret that finds it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpenIdRecordId(pub [u8; 32]);

usher_protocol::debug_shows!(OpenIdRecordId(..));

/// Identifies a grant: a code and all tokens derived from it.
pub type OpenIdGrantId = [u8; 16];

/// The quota of a record; each has its own limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenIdQuota {
    /// Requests until the client has tokens, which anybody can begin.
    Requests,
    /// Sessions and tokens, which anybody with a key can obtain.
    Grants,
}

/// A record of the provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenIdRecord {
    /// The hash of its secret.
    pub id: OpenIdRecordId,
    /// Its grant, if any, whose records are removed together.
    pub grant: Option<OpenIdGrantId>,
    /// The client, if any.
    pub client_id: Option<String>,
    /// The user, if known: the main key in hex.
    pub subject: Option<String>,
    /// Its content as JSON.
    pub data: String,
    /// When it may be removed.
    pub expires_at: UnixMillis,
    /// Whether it has been used.
    pub used: bool,
    /// Its quota.
    pub quota: OpenIdQuota,
    /// The pseudonym of the visitor who caused it.
    pub visitor: String,
    /// The counted size: about the bytes that it takes, including dependent data.
    pub bytes: u64,
}

impl OpenIdRecord {
    /// Visitors with this many equal first characters are counted together.
    pub const WIDEST: usize = 24;
    /// Within these, visitors with this many.
    pub const WIDE: usize = 40;
}

/// The excess of records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenIdExcess {
    /// The number of bytes.
    pub bytes: u64,
    /// The records to remove first.
    pub oldest: Vec<OldOpenIdRecord>,
}

/// A record that may be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OldOpenIdRecord {
    /// The hash of its secret.
    pub id: OpenIdRecordId,
    /// Its content as JSON; empty if it cannot be read.
    pub data: String,
    /// Its counted size.
    pub bytes: u64,
    /// The visitor who caused it.
    pub visitor: String,
}

/// The changes by a use of a record.
#[derive(Clone, Debug)]
pub struct OpenIdStep {
    /// The record that is used.
    pub id: OpenIdRecordId,
    /// The time.
    pub at: UnixMillis,
    /// How long after its first use another one is [`OpenIdStepResult::UsedJustNow`].
    pub grace: Duration,
    /// Records to add.
    pub add: Vec<OpenIdRecord>,
    /// A consent that replaces the previous one of the same client and user.
    pub consent: Option<NewOpenIdConsent>,
}

/// A consent to store. The oldest ones are removed to make room.
#[derive(Clone, Debug)]
pub struct NewOpenIdConsent {
    /// The consent.
    pub consent: OpenIdConsent,
    /// The visitor who gives it.
    pub visitor: String,
    /// Most consents of this visitor.
    pub most_of_visitor: usize,
    /// Most consents in total.
    pub most: usize,
}

/// The result of an [`OpenIdStep`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenIdStepResult {
    /// Used now, and durably stored.
    Done,
    /// Used before, within [`OpenIdStep::grace`]; nothing was changed.
    UsedJustNow,
    /// Used long before: its secret has leaked. The records of its grant were removed, and nothing was added.
    Replayed,
    /// There is no such record; nothing was changed.
    Unknown,
}

/// A user's consent for a client.
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
