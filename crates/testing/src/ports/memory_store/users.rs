//! What the memory store keeps of users.

use async_trait::async_trait;
use usher_engine::StreamId;
use usher_engine::UnixMillis;
use usher_engine::ports::{EventMatch, EventPosition, ForgottenUser, IdempotencyKey, Matches, StoreError, UserStore};
use usher_protocol::PublicKey;

use super::MemoryStore;

/// The entries that have a text, of the first `limit` after a position.
fn search<P: Ord + Copy, T, F>(
    mut entries: Vec<(P, T)>,
    after: Option<P>,
    limit: usize,
    found: impl Fn(T) -> Option<F>,
) -> Matches<F, P> {
    entries.retain(|(position, _)| after.is_none_or(|after| *position > after));
    entries.sort_by_key(|(position, _)| *position);
    entries.truncate(limit);
    let next = entries.last().map(|(position, _)| *position).filter(|_| entries.len() == limit);
    Matches { found: entries.into_iter().filter_map(|(_, entry)| found(entry)).collect(), next }
}

#[async_trait]
impl UserStore for MemoryStore {
    async fn forget_user(&self, main_key: &PublicKey) -> Result<ForgottenUser, StoreError> {
        let rows = &mut *self.rows.lock();
        let passkeys = rows.passkeys.len();
        rows.passkeys.retain(|_, passkey| passkey.main_key != *main_key);
        let (consents, openid_records) = rows.openid.forget(&main_key.to_hex());
        Ok(ForgottenUser {
            signer: rows.user_signers.remove(main_key).is_some(),
            passkeys: passkeys - rows.passkeys.len(),
            consents,
            openid_records,
        })
    }

    async fn forget_relays_of(&self, main_key: &PublicKey) -> Result<bool, StoreError> {
        let rows = &mut *self.rows.lock();
        rows.user_signers.remove(main_key);
        Ok(rows.user_relays.remove(main_key).is_some())
    }

    async fn operations_with(
        &self,
        text: &str,
        after: Option<StreamId>,
        limit: usize,
    ) -> Result<Matches<StreamId, StreamId>, StoreError> {
        let rows = self.rows.lock();
        let operations = rows.operations.iter().filter(|(id, _)| **id != StreamId::SUBSCRIPTIONS);
        let operations = operations.map(|(id, operation)| (*id, (*id, &operation.stored.state.0))).collect();
        Ok(search(operations, after, limit, |(id, state)| state.contains(text).then_some(id)))
    }

    async fn events_with(
        &self,
        text: &str,
        after: Option<EventPosition>,
        limit: usize,
    ) -> Result<Matches<EventMatch, EventPosition>, StoreError> {
        let rows = self.rows.lock();
        let mut events = Vec::new();
        for (stream, operation) in &rows.operations {
            for event in &operation.events {
                let at = operation.times.get(&event.index).copied().unwrap_or_default();
                events.push(((*stream, event.index), EventMatch { stream: *stream, at, data: event.data.to_string() }));
            }
        }
        Ok(search(events, after, limit, |event| event.data.contains(text).then_some(event)))
    }

    async fn idempotency_records_with(
        &self,
        text: &str,
        after: Option<IdempotencyKey>,
        limit: usize,
    ) -> Result<Matches<UnixMillis, IdempotencyKey>, StoreError> {
        let rows = self.rows.lock();
        let records = rows.idempotency_records.iter().map(|(key, record)| (*key, record)).collect();
        Ok(search(records, after, limit, |record| {
            String::from_utf8_lossy(&record.body).contains(text).then_some(record.at)
        }))
    }

    async fn remove_finished_of(&self, ids: Vec<StreamId>) -> Result<Vec<StreamId>, StoreError> {
        let rows = &mut *self.rows.lock();
        let mut removed = Vec::new();
        for id in ids {
            let finished = rows.operations.get(&id).is_some_and(|operation| operation.stored.finished_at.is_some());
            if finished && !rows.has_pending(id) {
                rows.operations.remove(&id);
                rows.deliveries.retain(|(stream, _), _| *stream != id);
                removed.push(id);
            }
        }
        Ok(removed)
    }
}
