//! Answers to calls with an `Idempotency-Key`: the first call's answer is kept in the transaction of what it did.

use std::fmt;
use std::time::Duration;

use super::Engine;
use crate::UnixMillis;
use crate::ports::{Answer, AnswerKey, KeepAnswer, StoreError};

/// How long an answer is kept (decisions.md section 1).
pub(super) const ANSWERS_KEPT: Duration = Duration::from_secs(24 * 3600);

/// A call that is to be done once: which it is, and how its answer is written.
pub struct IdempotentRequest<T> {
    /// Which call.
    pub key: AnswerKey,
    /// SHA-256 of the call's body.
    pub fingerprint: [u8; 32],
    /// Writes the answer.
    pub render: Box<dyn Fn(&T) -> RenderedResponse + Send + Sync>,
}

/// An answer as it goes over the wire.
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
    /// The answer to the call whose result is `result`, to be committed with it.
    pub(super) fn answer(&self, result: &T, at: UnixMillis) -> KeepAnswer {
        let RenderedResponse { status, media_type, body } = (self.render)(result);
        let answer = Answer { key: self.key, fingerprint: self.fingerprint, at, status, media_type, body };
        KeepAnswer { answer, replace_before: at.minus(ANSWERS_KEPT) }
    }
}

impl Engine {
    /// The answer that was given to this call within the last 24 hours.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn idempotency_record(&self, key: &AnswerKey) -> Result<Option<Answer>, StoreError> {
        let oldest = self.clock.now().minus(ANSWERS_KEPT);
        Ok(self.answers.answer(key).await?.filter(|answer| answer.at >= oldest))
    }

    /// Keeps the answer to a call that started no operation.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn keep_idempotency_record<T>(&self, once: &IdempotentRequest<T>, result: &T) -> Result<(), StoreError> {
        // Not kept when the same call was answered meanwhile: that answer stands.
        self.answers.keep_answer(once.answer(result, self.clock.now())).await.map(|_| ())
    }
}
