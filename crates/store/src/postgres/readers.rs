//! Connections that read beside the writer.
//!
//! Requests of many callers are pipelined on one connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{Mutex, Semaphore, watch};
use usher_engine::ports::StoreError;

use super::failure::PostgresFailure;
use super::options::Address;
use super::session::Session;
use super::writer::Certainty;
use crate::row::Answer;
use crate::statement::Query;

pub(super) struct Readers {
    address: Address,
    slots: Vec<Mutex<Option<Arc<Session>>>>,
    next: AtomicUsize,
    /// One permit per concurrent query. Closed with the store.
    permits: Semaphore,
    certainty: watch::Receiver<Certainty>,
    /// How long a query waits for the outcome of a commit.
    patience: Duration,
}

impl Readers {
    /// Connects on first use.
    pub(super) fn new(
        address: Address,
        readers: usize,
        queue: usize,
        certainty: watch::Receiver<Certainty>,
        patience: Duration,
    ) -> Self {
        let slots = (0..readers.max(1)).map(|_| Mutex::new(None)).collect();
        Self { address, slots, next: AtomicUsize::new(0), permits: Semaphore::new(queue), certainty, patience }
    }

    /// Runs queries in one round trip.
    pub(super) async fn run(&self, queries: &[Query]) -> Result<Vec<Answer>, StoreError> {
        let queries: Vec<_> = queries.iter().collect();
        let _permit = self.permits.acquire().await.map_err(|_| StoreError::Closed)?;
        self.wait_for_certainty().await?;
        let turn = self.next.fetch_add(1, Ordering::Relaxed).checked_rem(self.slots.len()).unwrap_or_default();
        let slot = self.slots.get(turn).ok_or(StoreError::Closed)?;
        let (session, is_new) = self.session(slot).await?;
        let answer = session.run(&queries).await;
        if !answer.as_ref().is_err_and(PostgresFailure::ends_connection) {
            return Ok(answer?);
        }
        self.give_up(slot, &session).await;
        if is_new {
            return Ok(answer?);
        }
        // The connection was lost while idle, as when the database restarts. Queries can be repeated.
        let (session, _) = self.session(slot).await?;
        Ok(session.run(&queries).await?)
    }

    /// Returns when the store does no more, although it may have its lease.
    pub(super) async fn over(&self) {
        if self.certainty.clone().wait_for(|now| *now == Certainty::Over).await.is_err() {
            // It was closed.
            std::future::pending().await
        }
    }

    /// Waits until the outcome of all commits is known: otherwise reads could be wrong a moment later.
    async fn wait_for_certainty(&self) -> Result<(), PostgresFailure> {
        let mut certainty = self.certainty.clone();
        let settled = certainty.wait_for(|now| *now != Certainty::Doubtful);
        match tokio::time::timeout(self.patience, settled).await.map(|now| now.map(|now| *now)) {
            Ok(Ok(Certainty::Over)) => Err(PostgresFailure::NotActive),
            Err(_) => Err(PostgresFailure::OutcomeUnknown),
            // Without a writer there are no commits.
            Ok(Ok(Certainty::Certain | Certainty::Doubtful) | Err(_)) => Ok(()),
        }
    }

    /// The connection of a slot, and whether it is new.
    async fn session(&self, slot: &Mutex<Option<Arc<Session>>>) -> Result<(Arc<Session>, bool), PostgresFailure> {
        let mut kept = slot.lock().await;
        if let Some(session) = kept.as_ref().filter(|session| !session.is_closed()) {
            return Ok((Arc::clone(session), false));
        }
        let session = Arc::new(Session::connect(&self.address).await?);
        *kept = Some(Arc::clone(&session));
        Ok((session, true))
    }

    async fn give_up(&self, slot: &Mutex<Option<Arc<Session>>>, lost: &Arc<Session>) {
        slot.lock().await.take_if(|kept| Arc::ptr_eq(kept, lost));
    }

    pub(super) async fn close(&self) {
        self.permits.close();
        for slot in &self.slots {
            if let Some(session) = slot.lock().await.take().and_then(Arc::into_inner) {
                session.close().await;
            }
        }
    }
}
