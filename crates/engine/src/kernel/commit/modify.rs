//! Requests that change an operation: read, change and commit, repeated if it was stepped meanwhile.

use super::change::Change;
use super::{Cause, Committer};
use crate::kernel::request_errors::ModifyError;
use crate::machine::Effect;
use crate::ports::{Conflict, NewIdempotencyRecord, StoreError, Version};
use crate::registry::Operation;
use crate::{StreamId, UnixMillis};

pub(crate) type Stored<M> = (StreamId, Version, M);

pub(crate) enum Modified<T> {
    Unchanged(T),
    Changed {
        effects: Vec<Effect>,
        /// The response, for an idempotent request.
        record: Option<NewIdempotencyRecord>,
        result: T,
    },
}

impl<T> Modified<T> {
    pub(crate) const fn changed(effects: Vec<Effect>, result: T) -> Self {
        Self::Changed { effects, record: None, result }
    }
}

impl ModifyError for StoreError {}

impl Committer {
    /// Changes the operation found by `read`, repeatedly if it is stepped meanwhile. `None` if there is none.
    pub(crate) async fn modify<M, T, E: ModifyError, R>(
        &self,
        operation: fn(M) -> Operation,
        read: impl Fn() -> R,
        mut change: impl FnMut(&mut M, UnixMillis) -> Result<Modified<T>, E>,
    ) -> Result<Option<T>, E>
    where
        R: Future<Output = Result<Option<Stored<M>>, E>>,
    {
        loop {
            let Some((id, version, mut state)) = read().await? else { return Ok(None) };
            let now = self.core.clock.now();
            let (effects, record, result) = match change(&mut state, now)? {
                Modified::Unchanged(result) => return Ok(Some(result)),
                Modified::Changed { effects, record, result } => (effects, record, result),
            };
            let change = Change::step(id, version, operation(state), effects);
            match self.commit(change, now, Cause::Request(record)).await? {
                None => return Ok(Some(result)),
                Some(Conflict::Revision) => {}
                Some(Conflict::AlreadyRequested) => return Err(E::repeated()),
                Some(Conflict::Correlation(_) | Conflict::InboundSeen) => {
                    return Err(StoreError::Unexpected("a request claims a correlation key").into());
                }
            }
        }
    }
}
