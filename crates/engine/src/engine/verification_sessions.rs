//! Verification sessions while they are open: their pages and decisions.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::commit::{Cause, Change, Committer};
use super::damage::Damage;
use super::idempotency::IdempotentRequest;
use crate::StreamId;
use crate::operations::{AgeDecision, DecisionFault, Operation, VerificationSession, VerificationState};
use crate::ports::{Clock, Conflict, OperationKind, StoreError};

/// A session as its page shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerificationView {
    /// How far it is.
    pub state: VerificationState,
    /// The minimum age in years.
    pub minimum_age: u64,
    /// How long it can still be decided.
    pub time_left: std::time::Duration,
}

/// Why a session was not decided.
#[derive(Debug, thiserror::Error)]
pub enum DecisionError {
    /// There is none with this id, or it was removed after its retention.
    #[error("no such verification session")]
    NotFound,
    /// It is decided already.
    #[error("the session is decided already")]
    Decided,
    /// Nobody decided in time.
    #[error("the session has expired")]
    Expired,
    /// The idempotent request was done before.
    #[error("the request was done before")]
    Repeated,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<DecisionFault> for DecisionError {
    fn from(fault: DecisionFault) -> Self {
        match fault {
            DecisionFault::Decided => Self::Decided,
            DecisionFault::Expired => Self::Expired,
        }
    }
}

/// Reads and decides sessions.
pub(super) struct VerificationSessions {
    pub(super) damage: Arc<Damage>,
    pub(super) committer: Arc<Committer>,
    pub(super) clock: Arc<dyn Clock>,
}

impl VerificationSessions {
    /// See [`Engine::verification_session`](super::Engine::verification_session).
    pub(super) async fn view(&self, id: StreamId, page_secret: &str) -> Result<Option<VerificationView>, StoreError> {
        let Some((_, session)) = self.find(id).await? else { return Ok(None) };
        if !is_same_secret(session.page_secret(), page_secret) {
            return Ok(None);
        }
        let now = self.clock.now();
        Ok(Some(VerificationView {
            state: session.state(),
            minimum_age: session.minimum_age(),
            time_left: session.expires_at().since(now),
        }))
    }

    /// See [`Engine::decide_verification`](super::Engine::decide_verification).
    pub(super) async fn decide(
        &self,
        id: StreamId,
        decision: &AgeDecision,
        once: Option<IdempotentRequest<AgeDecision>>,
    ) -> Result<(), DecisionError> {
        loop {
            let now = self.clock.now();
            let (revision, mut session) = self.find(id).await?.ok_or(DecisionError::NotFound)?;
            let effects = session.decide(decision, now)?;
            let record = once.as_ref().map(|once| once.record(decision, now));
            let change = Change::step(id, revision, Operation::VerificationSession(session), effects);
            match self.committer.commit(change, now, Cause::Request(record)).await? {
                None => return Ok(()),
                // It was stepped meanwhile: read it again.
                Some(Conflict::Revision) => {}
                Some(Conflict::AlreadyRequested) => return Err(DecisionError::Repeated),
                Some(Conflict::Correlation(_) | Conflict::InboundSeen) => {
                    return Err(StoreError::Unreadable("a verification session's keys").into());
                }
            }
        }
    }

    /// The session and its revision, also when it is over.
    async fn find(&self, id: StreamId) -> Result<Option<(u64, VerificationSession)>, StoreError> {
        match self.damage.readable(id).await? {
            Some((stored, Operation::VerificationSession(session)))
                if stored.kind == OperationKind::VerificationSession =>
            {
                Ok(Some((stored.revision, session)))
            }
            _ => Ok(None),
        }
    }
}

/// Compares digests: the time it takes says nothing about the secret.
fn is_same_secret(secret: &str, given: &str) -> bool {
    Sha256::digest(secret) == Sha256::digest(given)
}
