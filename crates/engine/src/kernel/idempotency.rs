//! Idempotent requests: the response to the first one is stored in the transaction of its changes.

use std::sync::Arc;
use std::time::Duration;

use super::damaged_rows::DamagedRows;
use super::timers::Timers;
use crate::UnixMillis;
use crate::ports::{
    Clock, IdempotencyKey, IdempotencyRecord, IdempotencyStore, NewIdempotencyRecord, StoreError, Table,
};

/// How long a response is kept (docs/api.md, Idempotency).
const KEPT: Duration = Duration::from_secs(24 * 3600);

/// A request with an `Idempotency-Key`: its identity, and how its response is rendered.
pub struct IdempotentRequest<T> {
    /// Identifies the request.
    pub key: IdempotencyKey,
    /// See [`IdempotencyRecord::fingerprint`].
    pub fingerprint: [u8; 32],
    /// Renders the response.
    pub render: Box<dyn Fn(&T) -> RenderedResponse + Send + Sync>,
}

/// A rendered response.
pub struct RenderedResponse {
    /// HTTP status.
    pub status: u16,
    /// Media type of the body.
    pub media_type: String,
    /// The body.
    pub body: Vec<u8>,
}

usher_protocol::debug_shows!(IdempotentRequest<T> {});

impl<T> IdempotentRequest<T> {
    pub(crate) fn record(&self, result: &T, at: UnixMillis) -> NewIdempotencyRecord {
        let RenderedResponse { status, media_type, body } = (self.render)(result);
        let record = IdempotencyRecord { key: self.key, fingerprint: self.fingerprint, at, status, media_type, body };
        NewIdempotencyRecord { record, replace_before: at.minus(KEPT) }
    }
}

/// Stored responses.
pub struct IdempotencyRecords {
    store: Arc<dyn IdempotencyStore>,
    damaged_rows: Arc<DamagedRows>,
    clock: Arc<dyn Clock>,
    timers: Arc<Timers>,
}

impl IdempotencyRecords {
    pub(crate) fn new(
        store: Arc<dyn IdempotencyStore>,
        damaged_rows: Arc<DamagedRows>,
        clock: Arc<dyn Clock>,
        timers: Arc<Timers>,
    ) -> Self {
        Self { store, damaged_rows, clock, timers }
    }

    /// The response to this idempotent request within the last 24 hours. While the clock may have leapt, no response is too old.
    pub async fn get(&self, key: &IdempotencyKey) -> Result<Option<IdempotencyRecord>, StoreError> {
        let oldest = self.clock.now().minus(KEPT);
        let record = self.store.idempotency_record(key).await;
        if matches!(record, Err(StoreError::Unreadable(_))) {
            // The request is refused, because it may have been processed before.
            self.damaged_rows.set_aside(Table::IdempotencyRecords, key.to_hex());
        }
        Ok(record?.filter(|record| record.at >= oldest || self.timers.are_held()))
    }

    /// Stores the response to a request that committed nothing.
    pub async fn keep<T>(&self, request: &IdempotentRequest<T>, result: &T) -> Result<(), StoreError> {
        // Not stored if the same request got a response in the meantime, which is kept.
        self.store.add_idempotency_record(request.record(result, self.clock.now())).await.map(|_| ())
    }

    /// Until when a response made at `at` is kept.
    pub(crate) fn kept_until(at: UnixMillis) -> UnixMillis {
        at.plus(KEPT)
    }

    pub(crate) async fn remove_old(&self, limit: usize) -> Result<usize, StoreError> {
        self.store.remove_idempotency_records(self.clock.now().minus(KEPT), limit).await
    }
}
