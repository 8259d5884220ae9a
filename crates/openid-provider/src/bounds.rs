//! What anybody can make the provider store, and which of it goes when it is too much.
//!
//! Anybody can begin a login, and anybody with a key that they have made themselves can complete as many as they like. So what is
//! stored takes no more than a number of bytes in all, and each visitor has a part of these. Beyond that the oldest goes: first
//! what was used, then what was not, and of this visitor before that of others. The store counts, so it is the same after a
//! restart.

use ring::hmac;
use usher_engine::Visitor;
use usher_engine::ports::{NewOpenIdConsent, OpenIdConsent, OpenIdQuota, OpenIdRecord, StoreError};

use crate::provider::Provider;
use crate::records::Content;

const MEBIBYTE: u64 = 1024 * 1024;

/// Most bytes of requests, with the logins that they wait for: about 3,700 usual ones.
const MOST_REQUESTS: u64 = 16 * MEBIBYTE;
/// Most bytes of sessions and tokens: about 150,000.
const MOST_GRANTS: u64 = 128 * MEBIBYTE;
/// Most consents: about 40 MB.
const MOST_CONSENTS: u64 = 100_000;

/// What one network may have: one part in so many.
const NETWORK_SHARE: u64 = 8;
/// What those may have who come through a proxy that does not name them: anybody can say that they do.
const PROXY_SHARE: u64 = 2;

/// What a record takes beside its content: its columns, and its places in five indexes.
const ROW_BYTES: u64 = 512;
/// What the login of a request takes in the database.
const LOGIN_BYTES: u64 = 3072;

/// Records looked at in one round, and after how many rounds the logins of open pages go too.
const BATCH: usize = 64;
const SPARING_ROUNDS: usize = 16;

/// Of the 32 bytes of a hidden address: as many as no two addresses share by chance.
const HIDDEN_BYTES: usize = 16;

const NETWORK: &str = "network ";
const PROXY: &str = "proxy ";

/// Hides the addresses of visitors in the database: records of one address belong together, and nobody can tell which it is
/// without this key.
#[derive(Clone, Debug)]
pub struct VisitorKey(hmac::Key);

impl VisitorKey {
    /// The key that is made of this secret. With another one, what is stored is of other visitors.
    pub fn new(secret: &[u8; 32]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, secret))
    }

    /// The text that a visitor's records are listed under.
    pub fn listed(&self, visitor: Visitor) -> String {
        let hidden = |address: &dyn std::fmt::Display| {
            let tag = hmac::sign(&self.0, address.to_string().as_bytes());
            tag.as_ref().iter().take(HIDDEN_BYTES).map(|byte| format!("{byte:02x}")).collect::<String>()
        };
        match visitor {
            Visitor::Network(address) => format!("{NETWORK}{}", hidden(&address)),
            Visitor::Proxy(address) => format!("{PROXY}{}", hidden(&address)),
            Visitor::Loopback => "loopback".to_owned(),
        }
    }
}

/// The part of `most` that the visitor who is listed under this text may have. Who comes over loopback may be anybody.
fn part(visitor: &str, most: u64) -> u64 {
    if visitor.starts_with(NETWORK) {
        most / NETWORK_SHARE
    } else if visitor.starts_with(PROXY) {
        most / PROXY_SHARE
    } else {
        most
    }
}

impl Content {
    /// What it counts towards.
    pub(crate) const fn quota(&self) -> OpenIdQuota {
        match self {
            Self::Login { .. } | Self::Consent { .. } | Self::Code { .. } => OpenIdQuota::Requests,
            Self::Session(_) | Self::AccessToken(_) | Self::RefreshToken(_) => OpenIdQuota::Grants,
        }
    }

    /// What it counts as, when it is stored as this text.
    pub(crate) fn bytes(&self, data: &str) -> u64 {
        let login = if matches!(self, Self::Login { .. }) { LOGIN_BYTES } else { 0 };
        ROW_BYTES + login + data.len() as u64
    }
}

/// A consent, with the bounds that it is stored under.
pub(crate) fn bounded(consent: OpenIdConsent, visitor: &str) -> NewOpenIdConsent {
    let most = |most: u64| usize::try_from(most).unwrap_or(usize::MAX);
    NewOpenIdConsent {
        consent,
        visitor: visitor.to_owned(),
        most_of_visitor: most(part(visitor, MOST_CONSENTS)),
        most: most(MOST_CONSENTS),
    }
}

impl Provider {
    /// Stores a record.
    pub(crate) async fn add(&self, record: OpenIdRecord) -> Result<(), StoreError> {
        self.make_room(record.quota, &record.visitor, record.bytes).await?;
        self.store.add_openid_records(vec![record]).await
    }

    /// Removes what is too much of one quota, before records of this visitor with so many bytes are added. Not afterwards: a browser
    /// that disconnects in between would leave it undone. So those that others add at this moment may be too many.
    pub(crate) async fn make_room(&self, quota: OpenIdQuota, visitor: &str, coming: u64) -> Result<(), StoreError> {
        let most = match quota {
            OpenIdQuota::Requests => MOST_REQUESTS,
            OpenIdQuota::Grants => MOST_GRANTS,
        };
        // One at a time: two would remove twice as much.
        let _turn = self.making_room.lock().await;
        for (of, most) in [(Some(visitor), part(visitor, most)), (None, most)] {
            for round in 0.. {
                let over = self.store.openid_records_over(quota, of, most.saturating_sub(coming), BATCH).await?;
                if over.is_empty() {
                    break;
                }
                let (mut waiting, mut rest) = (Vec::new(), Vec::new());
                let mut logins = Vec::new();
                for old in over {
                    let login = login_of(&old.data);
                    if round < SPARING_ROUNDS && login.as_ref().is_some_and(|login| self.logins.waits(login)) {
                        waiting.push(old.id);
                    } else {
                        rest.push(old.id);
                        logins.extend(login);
                    }
                }
                if !waiting.is_empty() {
                    self.store.renew_openid_records(waiting).await?;
                }
                // First the logins: what is interrupted here is found again.
                self.forget_logins(logins).await;
                if !rest.is_empty() {
                    self.store.drop_openid_records(rest).await?;
                }
            }
        }
        Ok(())
    }

    /// The records with this content are used or removed: what is left of their logins goes too.
    pub(crate) async fn forget_logins(&self, logins: Vec<String>) {
        for login in logins {
            if let Err(error) = self.logins.forget(&login).await {
                // It ends by itself, and is removed when its retention is over.
                tracing::warn!(error = &error as &dyn std::error::Error, "a used login could not be removed");
            }
        }
    }
}

/// The login of a stored request.
pub(crate) fn login_of(data: &str) -> Option<String> {
    match serde_json::from_str(data) {
        Ok(Content::Login { login_id, .. }) => Some(login_id),
        _ => None,
    }
}
