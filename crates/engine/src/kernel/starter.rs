//! Starts operations: the commit of a new operation, within the limit of open ones. Nothing here waits for the network.

use std::sync::Arc;

use super::capacity::Capacity;
use super::commit::{Cause, Change, Committer};
use super::core::Core;
use super::idempotency::{IdempotencyRecords, IdempotentRequest};
use super::request_errors::StartError;
use crate::machine::Effect;
use crate::ports::{Conflict, NewIdempotencyRecord, StoreError};
use crate::registry::Operation;
use crate::{Origin, StreamId};

pub(crate) struct Starter {
    pub(crate) core: Core,
    pub(crate) committer: Arc<Committer>,
    pub(crate) capacity: Capacity,
    pub(crate) idempotency: Arc<IdempotencyRecords>,
}

impl Starter {
    /// Commits a new operation whose correlation key is random.
    pub(crate) async fn create_new(
        &self,
        id: StreamId,
        origin: Option<Origin>,
        operation: Operation,
        effects: Vec<Effect>,
        record: Option<NewIdempotencyRecord>,
    ) -> Result<StreamId, StartError> {
        match self.create(id, origin, operation, effects, record).await? {
            None => Ok(id),
            Some(_) => Err(StoreError::Unexpected("a random correlation key was there already").into()),
        }
    }

    /// Commits a new operation; returns the operation that already holds its correlation key, if any.
    pub(crate) async fn create(
        &self,
        id: StreamId,
        origin: Option<Origin>,
        operation: Operation,
        effects: Vec<Effect>,
        record: Option<NewIdempotencyRecord>,
    ) -> Result<Option<StreamId>, StartError> {
        match self.create_all(vec![Change::start(id, origin, operation, effects)], record).await? {
            None => Ok(None),
            Some(Conflict::Correlation(owner)) => Ok(Some(owner)),
            Some(Conflict::Revision | Conflict::InboundSeen | Conflict::AlreadyRequested) => {
                Err(StoreError::Unexpected("a random stream id was there already").into())
            }
        }
    }

    /// Commits a new operation, the first of `changes`, with the others; returns the conflict, if any.
    pub(crate) async fn create_all(
        &self,
        changes: Vec<Change>,
        record: Option<NewIdempotencyRecord>,
    ) -> Result<Option<Conflict>, StartError> {
        if !self.capacity.has_room() {
            return Err(StartError::TooManyOpen);
        }
        if changes.first().is_some_and(|change| change.operation.lingers()) && !self.capacity.has_room_for_payments() {
            return Err(StartError::TooManyEnded);
        }
        match self.committer.commit_all(changes, self.core.clock.now(), Cause::Request(record)).await? {
            Some(Conflict::AlreadyRequested) => Err(StartError::Repeated),
            conflict => Ok(conflict),
        }
    }

    pub(crate) async fn respond<T>(&self, request: Option<IdempotentRequest<T>>, result: T) -> Result<T, StartError> {
        if let Some(request) = request {
            self.idempotency.keep(&request, &result).await?;
        }
        Ok(result)
    }
}
