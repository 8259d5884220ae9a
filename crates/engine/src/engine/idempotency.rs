//! Idempotent requests: the response to the first one is stored in the transaction of what it did.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::damage::Damage;
use crate::UnixMillis;
use crate::ports::{Answer, AnswerKey, AnswerStore, Clock, KeepAnswer, StoreError, Table};

/// How long a response is kept (docs/api.md, Idempotency).
const KEPT: Duration = Duration::from_secs(24 * 3600);

/// A request with an `Idempotency-Key`: which one it is, and how its response is written.
pub struct IdempotentRequest<T> {
    /// Identifies the request.
    pub key: AnswerKey,
    /// SHA-256 of the request's body.
    pub fingerprint: [u8; 32],
    /// Writes the response.
    pub render: Box<dyn Fn(&T) -> RenderedResponse + Send + Sync>,
}

/// A response as it goes over the wire.
pub struct RenderedResponse {
    /// HTTP status.
    pub status: u16,
    /// Media type of the body.
    pub media_type: String,
    /// The body.
    pub body: Vec<u8>,
}

impl<T> fmt::Debug for IdempotentRequest<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdempotentRequest").finish_non_exhaustive()
    }
}

impl<T> IdempotentRequest<T> {
    /// The record of the response, to be committed with `result`.
    pub(super) fn record(&self, result: &T, at: UnixMillis) -> KeepAnswer {
        let RenderedResponse { status, media_type, body } = (self.render)(result);
        let answer = Answer { key: self.key, fingerprint: self.fingerprint, at, status, media_type, body };
        KeepAnswer { answer, replace_before: at.minus(KEPT) }
    }
}

/// Stored responses.
pub(super) struct IdempotencyRecords {
    store: Arc<dyn AnswerStore>,
    damage: Arc<Damage>,
    clock: Arc<dyn Clock>,
}

impl IdempotencyRecords {
    pub(super) fn new(store: Arc<dyn AnswerStore>, damage: Arc<Damage>, clock: Arc<dyn Clock>) -> Self {
        Self { store, damage, clock }
    }

    /// The response to this request within the last 24 hours.
    pub(super) async fn get(&self, key: &AnswerKey) -> Result<Option<Answer>, StoreError> {
        let oldest = self.clock.now().minus(KEPT);
        let answer = self.store.answer(key).await;
        if matches!(answer, Err(StoreError::Unreadable(_))) {
            // The request is refused: it may have been processed before.
            self.damage.set_aside(Table::Answers, key.to_hex());
        }
        Ok(answer?.filter(|answer| answer.at >= oldest))
    }

    /// Stores the response to a request that committed nothing.
    pub(super) async fn keep<T>(&self, request: &IdempotentRequest<T>, result: &T) -> Result<(), StoreError> {
        // Not stored when the same request got a response meanwhile: that one stands.
        self.store.keep_answer(request.record(result, self.clock.now())).await.map(|_| ())
    }

    /// Removes records that are too old, at most `limit`; returns how many.
    pub(super) async fn remove_old(&self, limit: usize) -> Result<usize, StoreError> {
        self.store.forget_answers(self.clock.now().minus(KEPT), limit).await
    }
}
