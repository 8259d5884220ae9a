//! The port that keeps answers: so that a call repeated with the same `Idempotency-Key` gets the answer of the first.

use std::fmt;

use async_trait::async_trait;

use super::StoreError;
use crate::UnixMillis;

/// Answers to calls, by idempotency key. An answer to a call that starts an operation is committed with it
/// ([`Commit::answer`](super::Commit::answer)); others are kept by themselves.
#[async_trait]
pub trait AnswerStore: Send + Sync {
    /// The answer kept under `key`, however old.
    async fn answer(&self, key: &AnswerKey) -> Result<Option<Answer>, StoreError>;

    /// Keeps an answer; says whether it was kept, that is, whether there was none that has not had its time.
    async fn keep_answer(&self, answer: KeepAnswer) -> Result<bool, StoreError>;

    /// Forgets answers given before `before`, at most `limit`; says how many.
    async fn forget_answers(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError>;
}

/// What identifies a call: a SHA-256 over method, path and idempotency key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AnswerKey(pub [u8; 32]);

impl AnswerKey {
    /// The key in lower-case hex.
    pub fn to_hex(self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// An answer to be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeepAnswer {
    /// The answer.
    pub answer: Answer,
    /// An answer under the same key given before this has had its time: it is replaced. One given at this time or
    /// later stays.
    pub replace_before: UnixMillis,
}

/// The answer to a call. `Debug` leaves the body out: it may hold tokens and URLs that are secrets of their users.
#[derive(Clone, PartialEq, Eq)]
pub struct Answer {
    /// Which call.
    pub key: AnswerKey,
    /// SHA-256 of the call's body: the same key with another body is another call.
    pub fingerprint: [u8; 32],
    /// When it was given.
    pub at: UnixMillis,
    /// HTTP status.
    pub status: u16,
    /// The body's media type.
    pub media_type: String,
    /// The body.
    pub body: Vec<u8>,
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer").field("status", &self.status).finish_non_exhaustive()
    }
}
