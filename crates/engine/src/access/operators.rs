//! People who use the console: operators, and those who approve payments. Some operators are in the configuration
//! (`console.operators`); the others have accepted an invitation, and are stored. Approvers are in the configuration alone
//! (`wallet.approvers`), and need not be operators.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio::sync::Mutex;
use usher_protocol::{PublicKey, text};

use super::operator_sessions::{OperatorSessions, new_secret};
use super::{KeyError, Role};
use crate::ports::{Clock, KeyId, Randomness, SettingStore, StoreError};
use crate::{FieldErrors, Origin};

/// Longest name of an operator, in characters.
pub const MAX_OPERATOR_NAME: usize = 60;

/// Most stored operators, and most invitations.
const MAX_STORED: usize = 100;

/// How long an invitation can be accepted.
const INVITATION_TTL: Duration = Duration::from_secs(3600);

/// The setting with the stored operators and the invitations.
const SETTING: &str = "console.operators";

/// A person who works with the console.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operator {
    /// The key that they log in with.
    pub key: PublicKey,
    /// Their name, also in the audit log.
    pub name: String,
    /// What they may do.
    pub role: Role,
}

impl Operator {
    /// Their id, in place of the id of an API key.
    pub fn id(&self) -> KeyId {
        operator_id(&self.key)
    }

    /// Their name in the audit log.
    pub fn actor(&self) -> String {
        format!("operator:{}", self.name)
    }
}

/// Somebody who may log in to the console.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsoleUser {
    /// The key that they log in with.
    pub key: PublicKey,
    /// The operator's name; of an approver without a role, the start of the key.
    pub name: String,
    /// The operator's role. `None`: they only approve payments.
    pub role: Option<Role>,
    /// Whether they may approve payments.
    pub is_approver: bool,
}

impl ConsoleUser {
    /// Their name in the audit log.
    pub fn actor(&self) -> String {
        format!("operator:{}", self.name)
    }
}

/// The id of the operator with this key.
pub fn operator_id(key: &PublicKey) -> KeyId {
    let digest = Sha256::new().chain_update("usher: operator").chain_update(key.to_bytes()).finalize();
    KeyId::from_bytes(digest.first_chunk().copied().unwrap_or_default())
}

/// Whether this can be the name of an operator.
pub fn is_operator_name(name: &str) -> bool {
    let is_hidden = name.chars().any(text::is_invisible);
    !name.is_empty() && !is_hidden && text::clean(name, MAX_OPERATOR_NAME) == name
}

/// An invitation that nobody has accepted yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invitation {
    /// The SHA-256 of its secret, in hex.
    digest: String,
    /// The name of the new operator.
    pub name: String,
    /// What they may do.
    pub role: Role,
    /// Until when it can be accepted.
    expires_at: u64,
}

impl Invitation {
    /// Until when it can be accepted, in Unix seconds.
    pub const fn expires_at(&self) -> u64 {
        self.expires_at
    }
}

/// Why an invitation is not accepted.
#[derive(Debug, thiserror::Error)]
pub enum AcceptError {
    /// It was accepted, has expired, or never was.
    #[error("there is no such invitation")]
    NotFound,
    /// The key is that of an operator.
    #[error("the key is that of an operator already")]
    IsOperator,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Clone, Default, Serialize, Deserialize)]
struct Stored {
    operators: Vec<Operator>,
    invitations: Vec<Invitation>,
}

/// The operators of the service, and their sessions.
pub struct Operators {
    configured: Vec<Operator>,
    approvers: Vec<PublicKey>,
    stored: RwLock<Stored>,
    /// Held while a change is stored.
    changing: Mutex<()>,
    store: Arc<dyn SettingStore>,
    clock: Arc<dyn Clock>,
    randomness: Arc<dyn Randomness>,
    sessions: OperatorSessions,
}

impl Operators {
    /// Loads the stored operators, to which it adds the configured ones and the approvers.
    pub async fn load(
        configured: Vec<Operator>,
        approvers: Vec<PublicKey>,
        store: Arc<dyn SettingStore>,
        clock: Arc<dyn Clock>,
        randomness: Arc<dyn Randomness>,
    ) -> Result<Self, StoreError> {
        let stored = store.setting(SETTING).await?.map(|json| serde_json::from_str(&json)).transpose();
        let stored = stored.unwrap_or_else(|_| {
            tracing::error!("the stored operators of the console cannot be read: only the configured ones can log in");
            None
        });
        let sessions = OperatorSessions::new(Arc::clone(&clock), Arc::clone(&randomness));
        let stored = RwLock::new(stored.unwrap_or_default());
        Ok(Self { configured, approvers, stored, changing: Mutex::new(()), store, clock, randomness, sessions })
    }

    /// The sessions of operators, and of those who approve payments.
    pub const fn sessions(&self) -> &OperatorSessions {
        &self.sessions
    }

    /// All operators; those of the configuration (true) first.
    pub fn list(&self) -> Vec<(Operator, bool)> {
        let stored = self.stored.read();
        let configured = self.configured.iter().map(|operator| (operator.clone(), true));
        configured.chain(stored.operators.iter().map(|operator| (operator.clone(), false))).collect()
    }

    /// Who this key is in the console, if its holder may log in there.
    pub fn user(&self, key: &PublicKey) -> Option<ConsoleUser> {
        let is_approver = self.approvers.contains(key);
        let (name, role) = match self.find(key) {
            Some(operator) => (operator.name, Some(operator.role)),
            None if is_approver => (key.to_hex().chars().take(16).collect(), None),
            None => return None,
        };
        Some(ConsoleUser { key: *key, name, role, is_approver })
    }

    /// The operator with this key.
    pub fn find(&self, key: &PublicKey) -> Option<Operator> {
        self.find_by(|operator| operator.key == *key)
    }

    /// The operator who has started operations with this origin.
    pub fn of_origin(&self, origin: Origin) -> Option<Operator> {
        self.find_by(|operator| operator.id().origin() == origin)
    }

    fn find_by(&self, is_same: impl Fn(&Operator) -> bool) -> Option<Operator> {
        let stored = self.stored.read();
        self.configured.iter().chain(&stored.operators).find(|operator| is_same(operator)).cloned()
    }

    /// The invitations that can be accepted.
    pub fn invitations(&self) -> Vec<Invitation> {
        let now = self.clock.now().secs();
        self.stored.read().invitations.iter().filter(|invitation| now < invitation.expires_at).cloned().collect()
    }

    /// The invitation with this secret.
    pub fn invitation(&self, secret: &str) -> Option<Invitation> {
        let digest = digest(secret);
        self.invitations().into_iter().find(|invitation| invitation.digest == digest)
    }

    /// Invites an operator. Another invitation with the same name is void then. Returns the secret, which is shown only now.
    ///
    /// # Errors
    /// [`KeyError::Refused`], [`KeyError::Store`].
    pub async fn invite(&self, name: &str, role: Role) -> Result<(String, Invitation), KeyError> {
        let _only = self.changing.lock().await;
        let mut errors = FieldErrors::default();
        if !is_operator_name(name) {
            let detail =
                format!("must be 1 to {MAX_OPERATOR_NAME} visible characters on one line, without spaces at its ends");
            errors.add("/name", detail);
        } else if self.find_by(|operator| operator.name == name).is_some() {
            errors.add("/name", "is the name of another operator");
        }
        let mut stored = self.stored.read().clone();
        let now = self.clock.now();
        stored.invitations.retain(|invitation| now.secs() < invitation.expires_at && invitation.name != name);
        if stored.operators.len() + stored.invitations.len() >= MAX_STORED {
            errors.add("", format!("there are {MAX_STORED} operators and invitations, which is the most"));
        }
        errors.finish(Some(())).map_err(KeyError::Refused)?;
        let secret = new_secret(&*self.randomness);
        let expires_at = now.plus(INVITATION_TTL).secs();
        let invitation = Invitation { digest: digest(&secret), name: name.to_owned(), role, expires_at };
        stored.invitations.push(invitation.clone());
        self.keep(stored).await?;
        Ok((secret, invitation))
    }

    /// Makes the key's holder the invited operator. The invitation is void then.
    pub async fn accept(&self, secret: &str, key: PublicKey) -> Result<Operator, AcceptError> {
        let _only = self.changing.lock().await;
        let invitation = self.invitation(secret).ok_or(AcceptError::NotFound)?;
        if self.find(&key).is_some() {
            return Err(AcceptError::IsOperator);
        }
        let Invitation { digest, name, role, .. } = invitation;
        let operator = Operator { key, name, role };
        let mut stored = self.stored.read().clone();
        stored.invitations.retain(|other| other.digest != digest);
        stored.operators.push(operator.clone());
        self.keep(stored).await?;
        Ok(operator)
    }

    /// Removes a stored operator, and ends their sessions. Returns whether there was one.
    pub async fn remove(&self, key: &PublicKey) -> Result<bool, StoreError> {
        let _only = self.changing.lock().await;
        let mut stored = self.stored.read().clone();
        let before = stored.operators.len();
        stored.operators.retain(|operator| operator.key != *key);
        if stored.operators.len() == before {
            return Ok(false);
        }
        self.keep(stored).await?;
        self.sessions.end_all(key);
        Ok(true)
    }

    async fn keep(&self, stored: Stored) -> Result<(), StoreError> {
        let json = serde_json::to_string(&stored).map_err(|_| StoreError::Unexpected("operators cannot be written"))?;
        self.store.set_setting(SETTING, Some(&json)).await?;
        *self.stored.write() = stored;
        Ok(())
    }
}

fn digest(secret: &str) -> String {
    hex::encode(Sha256::digest(secret))
}
