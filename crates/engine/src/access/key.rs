//! Keys in memory, and the secrets and sessions with which clients use them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio_util::sync::CancellationToken;

use super::validity::End;
use super::{ConsoleUser, OpenSession, Role, Scope, Terms, operator_id};
use crate::ports::{Clock, KeyId, SecretDigest, StoreError, StoredKey};
use crate::{Requester, UnixMillis};

#[derive(Default)]
pub(super) struct Keys {
    pub(super) by_id: BTreeMap<KeyId, Arc<Key>>,
    /// By the first bytes of the digest; the full digest is compared in constant time.
    pub(super) by_digest: HashMap<[u8; 8], (Arc<Key>, Arc<Secret>)>,
}

pub(super) struct Key {
    pub(super) id: KeyId,
    pub(super) terms: Arc<Terms>,
    pub(super) created_at: UnixMillis,
    pub(super) end: Option<End>,
    pub(super) current: Arc<Secret>,
    pub(super) previous: Option<Arc<Secret>>,
}

pub(super) struct Secret {
    pub(super) digest: SecretDigest,
    /// The end of a previous secret.
    pub(super) until: Option<End>,
    /// Cancelled when it is no longer accepted.
    pub(super) revoked: CancellationToken,
    /// Milliseconds; 0 for never.
    pub(super) used_at: AtomicU64,
    pub(super) stored_used_at: AtomicU64,
}

/// An accepted secret.
#[derive(Clone)]
pub struct AcceptedSecret {
    pub(super) key: Arc<Key>,
    pub(super) secret: Arc<Secret>,
    pub(super) operator: Option<Arc<OperatorClient>>,
}

/// An operator's session as a client of the API.
#[derive(Debug)]
pub struct OperatorClient {
    /// Who it is.
    pub user: ConsoleUser,
    /// Their session.
    pub session: OpenSession,
}

/// A key without its secrets.
#[derive(Clone, Debug)]
pub struct KeyView {
    /// Its identifier.
    pub id: KeyId,
    /// The key's permissions and limits.
    pub terms: Terms,
    /// When it was created.
    pub created_at: UnixMillis,
    /// When its secret was last used.
    pub used_at: Option<UnixMillis>,
    /// Until when the previous secret is accepted, and when it was last used.
    pub previous: Option<(UnixMillis, Option<UnixMillis>)>,
    /// Whether it has expired.
    pub is_expired: bool,
}

impl AcceptedSecret {
    /// The session of an operator, as a key with the operator's rights that ends with the session.
    pub fn of_operator(client: OperatorClient) -> Self {
        let OperatorClient { user, session } = &client;
        let mut scopes: BTreeSet<_> = user.role.into_iter().flat_map(Role::scopes).collect();
        scopes.extend(user.is_approver.then_some(Scope::Approvals));
        let secret = Secret::revoked_by(session.ended.clone(), SecretDigest([0; 32]), None, None);
        let key = Key {
            id: operator_id(&user.key),
            terms: Arc::new(Terms::of_user(user, scopes)),
            created_at: UnixMillis(0),
            end: None,
            current: Arc::clone(&secret),
            previous: None,
        };
        Self { key: Arc::new(key), secret, operator: Some(Arc::new(client)) }
    }

    /// The operator, if it is the session of one.
    pub fn operator(&self) -> Option<&OperatorClient> {
        self.operator.as_deref()
    }

    /// The key's id.
    pub fn key_id(&self) -> KeyId {
        self.key.id
    }

    /// The key's permissions and limits.
    pub fn terms(&self) -> &Terms {
        &self.key.terms
    }

    /// The key as requester.
    pub fn requester(&self) -> Requester {
        Requester::Key { origin: self.key.id.origin(), terms: Arc::clone(&self.key.terms) }
    }

    /// Cancelled when the secret is no longer accepted. Each caller gets its own child, to avoid contention for the
    /// lock of a shared token.
    pub fn revoked(&self) -> CancellationToken {
        self.secret.revoked.child_token()
    }

    /// Whether it is no longer accepted.
    pub fn is_revoked(&self) -> bool {
        self.secret.revoked.is_cancelled()
    }
}

usher_protocol::debug_shows!(AcceptedSecret(..));

impl Secret {
    pub(super) fn new(digest: SecretDigest, until: Option<End>, used_at: Option<UnixMillis>) -> Arc<Self> {
        Self::revoked_by(CancellationToken::new(), digest, until, used_at)
    }

    pub(super) fn revoked_by(
        revoked: CancellationToken,
        digest: SecretDigest,
        until: Option<End>,
        used_at: Option<UnixMillis>,
    ) -> Arc<Self> {
        let used_at = used_at.map_or(0, |at| at.0);
        let (used_at, stored_used_at) = (AtomicU64::new(used_at), AtomicU64::new(used_at));
        Arc::new(Self { digest, until, revoked, used_at, stored_used_at })
    }

    pub(super) fn used_at(&self) -> Option<UnixMillis> {
        let at = self.used_at.load(Ordering::Relaxed);
        (at > 0).then_some(UnixMillis(at))
    }
}

impl Key {
    pub(super) fn secrets(&self) -> impl Iterator<Item = &Arc<Secret>> {
        [&self.current].into_iter().chain(&self.previous)
    }

    pub(super) fn has_ended(&self, secret: &Secret, clock: &dyn Clock) -> bool {
        let ends = [self.end, secret.until];
        secret.revoked.is_cancelled() || ends.iter().flatten().any(|end| end.has_come(clock))
    }

    pub(super) fn uses(&self) -> [Option<UnixMillis>; 2] {
        [self.current.used_at(), self.previous.as_ref().and_then(|previous| previous.used_at())]
    }

    pub(super) fn stored(&self) -> Result<StoredKey, StoreError> {
        let previous = self.previous.as_ref().and_then(|former| Some((former.digest, former.until?.wall)));
        Ok(StoredKey {
            id: self.id,
            digest: self.current.digest,
            previous,
            terms: serde_json::to_string(&*self.terms)
                .map_err(|_| StoreError::Unexpected("a key cannot be written"))?,
            created_at: self.created_at,
            used_at: self.uses(),
        })
    }

    pub(super) fn view(&self, clock: &dyn Clock) -> KeyView {
        let previous = self.previous.as_ref().filter(|former| !self.has_ended(former, clock));
        KeyView {
            id: self.id,
            terms: (*self.terms).clone(),
            created_at: self.created_at,
            used_at: self.current.used_at(),
            previous: previous.and_then(|former| Some((former.until?.wall, former.used_at()))),
            is_expired: self.has_ended(&self.current, clock),
        }
    }
}

impl Keys {
    /// Adds or replaces a key, and revokes secrets that it no longer has.
    pub(super) fn put(&mut self, key: Key) -> Arc<Key> {
        let key = Arc::new(key);
        self.remove(key.id, Some(&key));
        for secret in key.secrets() {
            self.by_digest.insert(start_of(secret.digest), (Arc::clone(&key), Arc::clone(secret)));
        }
        self.by_id.insert(key.id, Arc::clone(&key));
        key
    }

    /// Removes a key, and revokes its secrets except those that its successor has, too.
    pub(super) fn remove(&mut self, id: KeyId, successor: Option<&Key>) {
        let Some(old) = self.by_id.remove(&id) else { return };
        for secret in old.secrets() {
            self.by_digest.remove(&start_of(secret.digest));
            let is_kept = successor.is_some_and(|key| key.secrets().any(|kept| kept.digest == secret.digest));
            if !is_kept {
                secret.revoked.cancel();
            }
        }
    }
}

pub(super) fn start_of(digest: SecretDigest) -> [u8; 8] {
    digest.0.first_chunk().copied().unwrap_or_default()
}
