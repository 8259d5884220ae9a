//! All keys: loaded at the start, and updated in memory after each change is stored.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use parking_lot::RwLock;
use subtle::ConstantTimeEq as _;
use tokio::sync::{Mutex, Notify};
use tokio_util::sync::CancellationToken;
use usher_protocol::text;

use super::key::{Key, Keys, Secret, start_of};
use super::secret::digest_of;
use super::terms::MAX_NAME;
use super::validity::End;
use super::{AcceptedSecret, Invitation, KeyError, KeySecret, KeyView, NewKeyRequest, Operators, Role, Scope, Terms};
use crate::ports::{Clock, KeyId, KeyStore, Randomness, StoreError, StoredKey};
use crate::{FieldErrors, Origin, UnixMillis};

/// Most keys.
pub const MAX_KEYS: usize = 1_000;

/// Longest time for which a rotated key's previous secret is accepted.
pub const MAX_OVERLAP: Duration = Duration::from_secs(30 * 24 * 3600);

/// How often last uses are stored.
const NOTED_EVERY: Duration = Duration::from_secs(60);

/// How often expiries are checked while any is pending, because the wall clock may be set.
const ENDS_SEEN_EVERY: Duration = Duration::from_secs(1);

/// The keys of the service.
pub struct KeyRing {
    store: Arc<dyn KeyStore>,
    operators: Operators,
    clock: Arc<dyn Clock>,
    randomness: Arc<dyn Randomness>,
    keys: RwLock<Keys>,
    /// Held while a change is stored.
    changing: Mutex<()>,
    changed: Notify,
}

/// A key with a new secret.
#[derive(Debug)]
pub struct NewSecret {
    /// The key.
    pub key: KeyView,
    /// Its secret, which is shown only now.
    pub secret: KeySecret,
}

impl KeyRing {
    /// Loads the keys of the store, without damaged ones, which are not accepted.
    pub async fn load(
        store: Arc<dyn KeyStore>,
        operators: Operators,
        clock: Arc<dyn Clock>,
        randomness: Arc<dyn Randomness>,
    ) -> Result<Arc<Self>, StoreError> {
        let mut keys = Keys::default();
        for stored in store.keys().await? {
            match stored.map(|stored| (serde_json::from_str(&stored.terms), stored)) {
                Ok((Ok(terms), stored)) => drop(keys.put(Self::key(stored, terms, &*clock))),
                Ok((Err(_), StoredKey { id, .. })) => {
                    tracing::error!(key_id = %id, "an API key cannot be read: it is not accepted");
                }
                Err(_) => tracing::error!("an API key cannot be read: it is not accepted"),
            }
        }
        let (keys, changing, changed) = (RwLock::new(keys), Mutex::new(()), Notify::new());
        Ok(Arc::new(Self { store, operators, clock, randomness, keys, changing, changed }))
    }

    fn key(stored: StoredKey, terms: Terms, clock: &dyn Clock) -> Key {
        let [used_at, previous_used_at] = stored.used_at;
        let former = |(digest, until)| Secret::new(digest, Some(End::at(until, clock)), previous_used_at);
        Key {
            id: stored.id,
            end: terms.expires_at.map(|secs| End::at(UnixMillis::from_secs(secs), clock)),
            terms: Arc::new(terms),
            created_at: stored.created_at,
            current: Secret::new(stored.digest, None, used_at),
            previous: stored.previous.map(former),
        }
    }

    /// The key of this secret, if it is currently accepted.
    pub fn authenticate(&self, secret: &[u8]) -> Option<AcceptedSecret> {
        let digest = digest_of(secret)?;
        let (key, secret) = self.keys.read().by_digest.get(&start_of(digest))?.clone();
        let is_same = bool::from(secret.digest.0.ct_eq(&digest.0));
        if !is_same || key.has_ended(&secret, &*self.clock) {
            return None;
        }
        secret.used_at.store(self.clock.now().0, Ordering::Relaxed);
        Some(AcceptedSecret { key, secret, operator: None })
    }

    /// Refuses a client that uses a key's previous secret.
    ///
    /// # Errors
    /// [`KeyError::Refused`].
    pub fn require_current(&self, client: Option<&AcceptedSecret>) -> Result<(), KeyError> {
        let mut errors = FieldErrors::default();
        self.check_client(client, &mut errors);
        errors.finish(Some(())).map_err(KeyError::Refused)
    }

    /// The operators, whose sessions are used like keys.
    pub const fn operators(&self) -> &Operators {
        &self.operators
    }

    /// The key with this origin of operations, and its name.
    pub fn of_origin(&self, origin: Origin) -> Option<(KeyId, String)> {
        let keys = self.keys.read();
        let key = keys.by_id.values().find(|key| key.id.origin() == origin)?;
        Some((key.id, key.terms.name.clone()))
    }

    /// Whether operations with this origin are of a key that was revoked, or of an operator who was removed.
    pub fn is_revoked(&self, origin: Origin) -> bool {
        self.of_origin(origin).is_none() && self.operators.of_origin(origin).is_none()
    }

    /// All keys, oldest first.
    pub fn list(&self) -> Vec<KeyView> {
        self.keys.read().by_id.values().map(|key| key.view(&*self.clock)).collect()
    }

    /// Invites an operator, as [`Operators::invite`] does, for a client with the key `creator`, which has to have all rights of one.
    ///
    /// # Errors
    /// [`KeyError::Refused`], [`KeyError::Store`].
    pub async fn invite(
        &self,
        name: &str,
        role: Role,
        creator: Option<&AcceptedSecret>,
    ) -> Result<(String, Invitation), KeyError> {
        let mut errors = FieldErrors::default();
        self.check_client(creator, &mut errors);
        let excess = creator.map(|creator| Terms::of_operator(name, role).excess_over(creator.terms()));
        for (pointer, detail) in excess.unwrap_or_default() {
            errors.add("/role", format!("an operator would have more than your own key: {pointer} {detail}"));
        }
        errors.finish(Some(())).map_err(KeyError::Refused)?;
        self.operators.invite(name, role).await
    }

    /// Creates a key for a client with the key `creator`; `None` has all permissions. The key is durable on return.
    ///
    /// # Errors
    /// [`KeyError::Refused`], [`KeyError::Store`].
    pub async fn create(
        &self,
        request: NewKeyRequest,
        creator: Option<&AcceptedSecret>,
    ) -> Result<NewSecret, KeyError> {
        let terms = request.terms();
        let mut errors = FieldErrors::default();
        let is_hidden = terms.name.chars().any(text::is_invisible);
        if terms.name.is_empty() || is_hidden || text::clean(&terms.name, MAX_NAME) != terms.name {
            let detail = format!("must be 1 to {MAX_NAME} visible characters on one line, without spaces at its ends");
            errors.add("/name", detail);
        }
        if terms.expires_at.is_some_and(|at| UnixMillis::from_secs(at) <= self.clock.now()) {
            errors.add("/expires_at", "must be in the future");
        }
        let _only = self.changing.lock().await;
        self.check_client(creator, &mut errors);
        check_excess(&terms, creator, &mut errors);
        check_approver(&terms, creator, &mut errors);
        if terms.scopes.contains(&Scope::Approvals) && terms.scopes.contains(&Scope::Admin) {
            let detail = "approvals and admin do not go together: the key could approve what keys of its own ask for";
            errors.add("/scopes", detail);
        }
        if self.keys.read().by_id.len() >= MAX_KEYS {
            errors.add("", format!("there are {MAX_KEYS} keys, which is the most; delete one first"));
        }
        errors.finish(Some(())).map_err(KeyError::Refused)?;
        let now = self.clock.now();
        let mut random = [0; 10];
        self.randomness.fill(&mut random);
        let (secret, digest) = KeySecret::generate(&*self.randomness);
        let key = Key {
            id: KeyId::from_parts(now.0, random),
            end: terms.expires_at.map(|secs| End::at(UnixMillis::from_secs(secs), &*self.clock)),
            terms: Arc::new(terms),
            created_at: now,
            current: Secret::new(digest, None, None),
            previous: None,
        };
        self.keep(key, secret).await
    }

    /// Gives a key a new secret. The current one is accepted for `overlap` longer, the previous one no longer; if the
    /// current one was never used, the previous one stays in its place, and not for longer.
    ///
    /// # Errors
    /// [`KeyError`]; refused for clients with fewer permissions than the key, and for all keys if it is an approver's.
    pub async fn rotate(
        &self,
        id: KeyId,
        overlap: Duration,
        client: Option<&AcceptedSecret>,
    ) -> Result<NewSecret, KeyError> {
        let _only = self.changing.lock().await;
        let old = self.keys.read().by_id.get(&id).cloned().ok_or(KeyError::NotFound)?;
        let mut errors = FieldErrors::default();
        self.check_client(client, &mut errors);
        check_excess(&old.terms, client.filter(|client| client.key.id != id), &mut errors);
        check_approver(&old.terms, client, &mut errors);
        errors.finish(Some(())).map_err(KeyError::Refused)?;
        let (secret, digest) = KeySecret::generate(&*self.randomness);
        let until = self.clock.now().plus(overlap.min(MAX_OVERLAP));
        // If the response with the current secret was lost, nobody has it, and clients use the one before.
        let is_lost = old.current.used_at().is_none();
        let previous = old.previous.as_ref().filter(|previous| is_lost && !old.has_ended(previous, &*self.clock));
        let last = previous.unwrap_or(&old.current);
        let former = match last.until {
            Some(end) if end.wall <= until => Arc::clone(last),
            _ => {
                // Connections opened with it end with it.
                let until = Some(End::at(until, &*self.clock));
                Secret::revoked_by(last.revoked.clone(), last.digest, until, last.used_at())
            }
        };
        let key = Key {
            id,
            terms: old.terms.clone(),
            created_at: old.created_at,
            end: old.end,
            current: Secret::new(digest, None, None),
            previous: (!overlap.is_zero()).then_some(former),
        };
        self.keep(key, secret).await
    }

    async fn keep(&self, key: Key, secret: KeySecret) -> Result<NewSecret, KeyError> {
        self.store.put_key(key.stored()?).await?;
        let key = self.keys.write().put(key);
        self.changed.notify_one();
        Ok(NewSecret { key: key.view(&*self.clock), secret })
    }

    /// Removes a key. When this returns, it is no longer accepted, and its connections end.
    ///
    /// # Errors
    /// [`KeyError`]; refused for clients that use a previous secret, and for all keys if it is an approver's.
    pub async fn revoke(&self, id: KeyId, client: Option<&AcceptedSecret>) -> Result<(), KeyError> {
        let _only = self.changing.lock().await;
        let mut errors = FieldErrors::default();
        self.check_client(client, &mut errors);
        if let Some(key) = self.keys.read().by_id.get(&id) {
            check_approver(&key.terms, client, &mut errors);
        }
        errors.finish(Some(())).map_err(KeyError::Refused)?;
        let removed = self.store.remove_key(id).await?;
        self.keys.write().remove(id, None);
        if removed { Ok(()) } else { Err(KeyError::NotFound) }
    }

    /// Ends the connections of expired keys and secrets, and stores last uses, until `stop` is cancelled.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        let mut noted_at = self.clock.monotonic();
        loop {
            let pending = self.end_expired() | self.operators.sessions().end_expired();
            let wait = if pending { ENDS_SEEN_EVERY } else { NOTED_EVERY };
            tokio::select! {
                () = stop.cancelled() => break,
                () = self.changed.notified() => {}
                () = self.clock.sleep(wait) => {}
            }
            if self.clock.monotonic().saturating_sub(noted_at) >= NOTED_EVERY {
                noted_at = self.clock.monotonic();
                self.note_uses().await;
            }
        }
        self.note_uses().await;
    }

    /// Managing keys requires a key's current secret: a previous one may be stolen, and must not outlive its rotation.
    /// Called under the lock of a change.
    fn check_client(&self, client: Option<&AcceptedSecret>, errors: &mut FieldErrors) {
        let Some(client) = client else { return };
        if client.operator.is_some() {
            if client.is_revoked() {
                errors.add("", "your session has ended");
            }
            return;
        }
        let is_current = |key: &Arc<Key>| key.current.digest == client.secret.digest;
        let keys = self.keys.read();
        if client.is_revoked() || !keys.by_id.get(&client.key.id).is_some_and(is_current) {
            errors.add("", "your own key was revoked, or has a newer secret");
        }
    }

    /// Ends expired secrets. Returns whether others are pending.
    fn end_expired(&self) -> bool {
        let mut ends = false;
        for key in self.keys.read().by_id.values() {
            for secret in key.secrets().filter(|secret| !secret.revoked.is_cancelled()) {
                if key.has_ended(secret, &*self.clock) {
                    secret.revoked.cancel();
                }
                ends |= key.end.is_some() || secret.until.is_some();
            }
        }
        ends
    }

    async fn note_uses(&self) {
        let is_new = |secret: &Arc<Secret>| {
            let used_at = secret.used_at.load(Ordering::Relaxed);
            secret.stored_used_at.swap(used_at, Ordering::Relaxed) != used_at
        };
        let mut uses = Vec::new();
        for key in self.keys.read().by_id.values() {
            // Both secrets are checked.
            if key.secrets().filter(|secret| is_new(secret)).count() > 0 {
                uses.push((key.id, key.uses()));
            }
        }
        if !uses.is_empty()
            && let Err(error) = self.store.note_key_uses(uses).await
        {
            tracing::warn!(error = &error as &dyn std::error::Error, "the last use of API keys is not stored");
        }
    }
}

/// Only the API token can create approvers: a key that could would approve its own requests.
fn check_approver(terms: &Terms, client: Option<&AcceptedSecret>, errors: &mut FieldErrors) {
    if client.is_some() && terms.scopes.contains(&Scope::Approvals) {
        errors.add("/scopes", "approvals: only with the token can such a key be created, rotated and revoked");
    }
}

/// A client cannot create a key with more permissions than its own.
fn check_excess(terms: &Terms, client: Option<&AcceptedSecret>, errors: &mut FieldErrors) {
    let Some(client) = client else { return };
    for (pointer, detail) in terms.excess_over(client.terms()) {
        errors.add(pointer, detail);
    }
}
