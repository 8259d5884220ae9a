//! Limits on what anonymous requests can make the provider store, and what is evicted.
//!
//! Anybody can generate keys and complete any number of logins, so storage is bounded in total and per address. Beyond
//! that the oldest records are removed, used ones first: those of the same address, or, at the total limit, of the
//! network that has the most (`address_pseudonym_key`). A login that a user is working on is not removed for newcomers
//! of the same address, who are refused if there is nothing else to remove. It is removed for networks that have less;
//! otherwise an attacker could keep logins open and lock everybody out. The engine bounds logins in which no key was
//! named.
//!
//! These limits count bytes of database rows and survive a restart, unlike `usher-places`.

use usher_engine::ports::{NewOpenIdConsent, OpenIdConsent, OpenIdQuota, OpenIdRecord, StoreError};

use crate::address_pseudonym_key::LOOPBACK;
use crate::provider::Provider;
use crate::records::Content;

const MEBIBYTE: u64 = 1024 * 1024;

/// Most bytes of requests and their logins: about 3,700 typical ones.
const MAX_REQUESTS: u64 = 16 * MEBIBYTE;
/// Most bytes of sessions and tokens: about 150,000.
const MAX_GRANTS: u64 = 128 * MEBIBYTE;
/// Most consents: about 40 MB.
const MAX_CONSENTS: u64 = 100_000;

/// One address may have one part in this many.
const SHARE: u64 = 8;

/// Overhead of a record beside its content: its columns and five index entries.
const ROW_BYTES: u64 = 512;
/// Size of a request's login in the database.
const LOGIN_BYTES: u64 = 3072;

const BATCH: usize = 64;

/// The part of `most` for the visitor with this pseudonym. Loopback, which may be anybody, is not limited.
fn part(visitor: &str, most: u64) -> u64 {
    if visitor == LOOPBACK { most } else { most / SHARE }
}

impl Content {
    pub(crate) const fn quota(&self) -> OpenIdQuota {
        match self {
            Self::Login { .. } | Self::Consent { .. } | Self::Code { .. } => OpenIdQuota::Requests,
            Self::Session(_) | Self::AccessToken(_) | Self::RefreshToken(_) => OpenIdQuota::Grants,
        }
    }

    pub(crate) fn bytes(&self, data: &str) -> u64 {
        let login = if matches!(self, Self::Login { .. }) { LOGIN_BYTES } else { 0 };
        ROW_BYTES + login + data.len() as u64
    }
}

pub(crate) fn bounded(consent: OpenIdConsent, visitor: &str) -> NewOpenIdConsent {
    let most = |most: u64| usize::try_from(most).unwrap_or(usize::MAX);
    NewOpenIdConsent {
        consent,
        visitor: visitor.to_owned(),
        most_of_visitor: most(part(visitor, MAX_CONSENTS)),
        most: most(MAX_CONSENTS),
    }
}

impl Provider {
    pub(crate) async fn add(&self, record: OpenIdRecord) -> Result<bool, StoreError> {
        let has_room = self.make_room(record.quota, &record.visitor, record.bytes).await?;
        if has_room {
            self.store.add_openid_records(vec![record]).await?;
        }
        Ok(has_room)
    }

    /// Removes the excess of one quota before records of this visitor with this many bytes are added; removing it
    /// afterwards could be cut off by a disconnect. Returns whether there is room.
    pub(crate) async fn make_room(&self, quota: OpenIdQuota, visitor: &str, coming: u64) -> Result<bool, StoreError> {
        let (most, turn) = match quota {
            OpenIdQuota::Requests => (MAX_REQUESTS, &self.making_room_for_requests),
            OpenIdQuota::Grants => (MAX_GRANTS, &self.making_room_for_grants),
        };
        // One at a time: two would remove twice as much.
        let _turn = turn.lock().await;
        for (of, most) in [(Some(visitor), part(visitor, most)), (None, most)] {
            // Among records whose logins are in use: how many stay, and of which visitor.
            let (mut stay, mut largest, mut spares) = (0, String::new(), true);
            loop {
                let over = self.store.openid_records_over(quota, of, most.saturating_sub(coming), stay, BATCH).await?;
                if over.bytes == 0 {
                    break;
                }
                if over.oldest.is_empty() {
                    if of.is_some() || !spares || largest == visitor {
                        return Ok(false);
                    }
                    (stay, spares) = (0, false);
                    continue;
                }
                let (mut left, mut logins, mut dropped) = (over.bytes, Vec::new(), Vec::new());
                for old in over.oldest {
                    if old.visitor != largest {
                        (largest, stay, spares) = (old.visitor, 0, true);
                    }
                    let login = login_of(&old.data);
                    if spares && login.as_ref().is_some_and(|login| self.logins.is_in_use(login)) {
                        stay += 1;
                    } else if left > 0 {
                        left = left.saturating_sub(old.bytes);
                        dropped.push(old.id);
                        logins.extend(login);
                    }
                }
                // Logins first: an interruption here is repaired by the next run.
                self.forget_logins(logins).await;
                if !dropped.is_empty() {
                    self.store.drop_openid_records(dropped).await?;
                }
            }
        }
        Ok(true)
    }

    /// Removes the logins of records with this content, which are used or removed.
    pub(crate) async fn forget_logins(&self, logins: Vec<String>) {
        for login in logins {
            if let Err(error) = self.logins.forget(&login).await {
                // It ends by itself and is removed after its retention.
                tracing::warn!(error = &error as &dyn std::error::Error, "a used login could not be removed");
            }
        }
    }
}

pub(crate) fn login_of(data: &str) -> Option<String> {
    match serde_json::from_str(data) {
        Ok(Content::Login { login_id, .. }) => Some(login_id),
        _ => None,
    }
}
