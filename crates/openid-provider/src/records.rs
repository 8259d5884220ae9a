//! The stored records, and the secrets by which they are found.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use usher_engine::UnixMillis;
use usher_engine::ports::{OpenIdGrantId, OpenIdRecord, OpenIdRecordId, StoreError};

use crate::authorization_request::AuthorizationRequest;
use crate::provider::Provider;
use crate::secret::{Secret, record_id};

/// How long a code is valid: enough for a redirect and one request of the client.
pub(crate) const CODE_TTL: Duration = Duration::from_secs(60);
/// How long an access token and an ID token are valid.
pub(crate) const ACCESS_TTL: Duration = Duration::from_secs(3600);
/// How long a refresh token is valid after it is issued; each use issues a new one.
pub(crate) const REFRESH_TTL: Duration = Duration::from_secs(30 * 24 * 3600);
/// How long a user may take to log in, and then to consent. A login itself may end earlier.
pub(crate) const INTERACTION_TTL: Duration = Duration::from_secs(30 * 60);

/// Longest secret that is looked up; ours have 43 characters.
const MAX_SECRET_CHARS: usize = 64;

/// The content of a record. It includes the kind, so a secret of one kind cannot be used as another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Content {
    Login {
        request: AuthorizationRequest,
        login_id: String,
        page_url: String,
        /// The main key in hex of the only user who may log in (`id_token_hint`); `None` allows any.
        #[serde(default)]
        expected: Option<String>,
    },
    Consent {
        request: AuthorizationRequest,
        /// The hash of the session's secret, in hex: only the browser that has logged in can consent.
        session: String,
        user: User,
    },
    /// A browser session of a logged-in user.
    Session(User),
    /// An authorization code.
    Code { grant: Grant, request: AuthorizationRequest },
    /// Valid for [`ACCESS_TTL`].
    AccessToken(Grant),
    /// Each use issues a new one.
    RefreshToken(Grant),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct User {
    /// The main key in hex.
    pub(crate) subject: String,
    pub(crate) method: String,
    /// When, in Unix seconds.
    pub(crate) auth_time: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Grant {
    pub(crate) client_id: String,
    pub(crate) user: User,
    pub(crate) scopes: String,
}

impl Grant {
    pub(crate) fn has(&self, scope: &str) -> bool {
        self.scopes.split(' ').any(|granted| granted == scope)
    }
}

pub(crate) struct Found {
    pub(crate) id: OpenIdRecordId,
    pub(crate) visitor: String,
    pub(crate) grant_id: Option<OpenIdGrantId>,
    pub(crate) content: Content,
    pub(crate) used: bool,
    pub(crate) expires_at: UnixMillis,
    pub(crate) expired: bool,
}

impl Provider {
    pub(crate) fn new_secret(&self) -> Secret {
        let mut bytes = [0; 32];
        self.randomness.fill(&mut bytes);
        Secret::new(bytes)
    }

    pub(crate) fn new_grant_id(&self) -> OpenIdGrantId {
        let mut bytes = [0; 16];
        self.randomness.fill(&mut bytes);
        bytes
    }

    /// A record found by `secret`, listed under `visitor`.
    pub(crate) fn record(&self, secret: &Secret, content: &Content, ttl: Duration, visitor: &str) -> OpenIdRecord {
        let (client_id, subject) = match content {
            Content::Login { request, expected, .. } => (Some(&request.client_id), expected.as_ref()),
            Content::Consent { request, user, .. } => (Some(&request.client_id), Some(&user.subject)),
            Content::Session(user) => (None, Some(&user.subject)),
            Content::Code { grant, .. } | Content::AccessToken(grant) | Content::RefreshToken(grant) => {
                (Some(&grant.client_id), Some(&grant.user.subject))
            }
        };
        // Serialising plain data cannot fail.
        let data = serde_json::to_string(content).unwrap_or_default();
        OpenIdRecord {
            id: secret.id(),
            grant: None,
            client_id: client_id.cloned(),
            subject: subject.cloned(),
            expires_at: self.clock.now().plus(ttl),
            used: false,
            quota: content.quota(),
            visitor: visitor.to_owned(),
            bytes: content.bytes(&data),
            data,
        }
    }

    /// The record found by `secret`; an error if it cannot be read.
    pub(crate) async fn find(&self, secret: &str) -> Result<Option<Found>, StoreError> {
        if secret.len() > MAX_SECRET_CHARS {
            return Ok(None);
        }
        let Some(record) = self.store.openid_record(record_id(secret)).await? else { return Ok(None) };
        let content = serde_json::from_str(&record.data)
            .map_err(|_| StoreError::Unreadable("a record of the OpenID Connect provider"))?;
        let expired = record.expires_at <= self.clock.now();
        let OpenIdRecord { id, visitor, grant, used, expires_at, .. } = record;
        Ok(Some(Found { id, visitor, grant_id: grant, content, used, expires_at, expired }))
    }

    pub(crate) fn now_secs(&self) -> u64 {
        self.clock.now().secs()
    }
}

pub(crate) const fn secs(at: UnixMillis) -> u64 {
    at.secs()
}
