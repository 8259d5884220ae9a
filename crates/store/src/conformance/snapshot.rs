//! All that can be seen of a store.

use usher_engine::StreamId;
use usher_engine::event::Event;
use usher_engine::ports::{OpenOperation, OutboxMessage, Store, StoredOperation};
use usher_protocol::PublicKey;

#[derive(Debug, PartialEq, Eq)]
struct Stream {
    id: StreamId,
    operation: Option<StoredOperation>,
    events: Vec<Event>,
    outbox: Vec<OutboxMessage>,
}

/// What a store answers to every question about some ids and users; two that behave alike have equal ones.
#[derive(Debug, PartialEq, Eq)]
pub struct Snapshot {
    streams: Vec<Stream>,
    open: Vec<OpenOperation>,
    relays: Vec<Vec<String>>,
}

impl Snapshot {
    /// Asks.
    pub async fn of(store: &dyn Store, ids: &[StreamId], users: &[PublicKey]) -> Self {
        let mut streams = Vec::new();
        for id in ids {
            streams.push(Stream {
                id: *id,
                operation: store.operation(*id).await.unwrap(),
                events: store.events(*id, 0, usize::MAX).await.unwrap(),
                outbox: store.outbox(*id).await.unwrap(),
            });
        }
        let mut relays = Vec::new();
        for user in users {
            relays.push(store.user_relays(user).await.unwrap());
        }
        Self { streams, open: store.open_operations(None, usize::MAX).await.unwrap(), relays }
    }
}
