//! What anybody can make the provider store, and which of it goes when it is too much.
//!
//! Anybody with a key of their own can complete as many logins as they like. So what is stored is bounded, in all and
//! for each address. Beyond that the oldest goes: first what was used, then what was not; of the same address, and when
//! all is taken, of the network that has the most (`address_pseudonym_key`). A login whose user is at it stays where newcomers of its
//! own address come: when there is nothing else, they are refused. It goes for others who have less, or whoever keeps logins open
//! would lock everybody out. Logins in which nobody has named a key are bounded by the engine.
//!
//! These are rows of the database, counted in bytes: no places in memory (`usher-places`), which a restart would forget.

use usher_engine::ports::{NewOpenIdConsent, OpenIdConsent, OpenIdQuota, OpenIdRecord, StoreError};

use crate::address_pseudonym_key::LOOPBACK;
use crate::provider::Provider;
use crate::records::Content;

const MEBIBYTE: u64 = 1024 * 1024;

/// Most bytes of requests, with the logins that they wait for: about 3,700 usual ones.
const MAX_REQUESTS: u64 = 16 * MEBIBYTE;
/// Most bytes of sessions and tokens: about 150,000.
const MAX_GRANTS: u64 = 128 * MEBIBYTE;
/// Most consents: about 40 MB.
const MAX_CONSENTS: u64 = 100_000;

/// What those at one address may have: one part in so many.
const SHARE: u64 = 8;

/// What a record takes beside its content: its columns, and its places in five indexes.
const ROW_BYTES: u64 = 512;
/// What the login of a request takes in the database.
const LOGIN_BYTES: u64 = 3072;

const BATCH: usize = 64;

/// The part of `most` that the visitor who is listed under this text may have. Who comes over loopback may be anybody.
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

    /// Removes what is too much of one quota, before records of this visitor with so many bytes are added: a browser
    /// that disconnects could leave it undone afterwards. Returns whether there is room.
    pub(crate) async fn make_room(&self, quota: OpenIdQuota, visitor: &str, coming: u64) -> Result<bool, StoreError> {
        let (most, turn) = match quota {
            OpenIdQuota::Requests => (MAX_REQUESTS, &self.making_room_for_requests),
            OpenIdQuota::Grants => (MAX_GRANTS, &self.making_room_for_grants),
        };
        // One at a time: two would remove twice as much.
        let _turn = turn.lock().await;
        for (of, most) in [(Some(visitor), part(visitor, most)), (None, most)] {
            // Of those whose logins are in use, how many stay, and of whom.
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
                // First the logins: what is interrupted here is found again.
                self.forget_logins(logins).await;
                if !dropped.is_empty() {
                    self.store.drop_openid_records(dropped).await?;
                }
            }
        }
        Ok(true)
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
