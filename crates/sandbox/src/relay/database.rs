use nostr_relay_builder::prelude::{
    Backend, BoxedFuture, DatabaseError, DatabaseEventStatus, Event, EventId, Events, Filter, MemoryDatabase,
    MemoryDatabaseOptions, NostrDatabase, SaveEventStatus,
};

/// Events kept; the oldest goes first.
const CAPACITY: usize = 75_000;

/// Database that also forwards (and does not keep) addressable events without a `d` tag, such as subkey proofs (kind
/// 30000): relays in the field take a missing `d` for an empty one.
#[derive(Debug)]
pub(super) struct Database(MemoryDatabase);

impl Database {
    pub(super) fn new() -> Self {
        Self(MemoryDatabase::with_opts(MemoryDatabaseOptions { events: true, max_events: Some(CAPACITY) }))
    }
}

impl NostrDatabase for Database {
    fn backend(&self) -> Backend {
        self.0.backend()
    }

    fn save_event<'a>(&'a self, event: &'a Event) -> BoxedFuture<'a, Result<SaveEventStatus, DatabaseError>> {
        if event.kind.is_addressable() && event.tags.identifier().is_none() {
            return Box::pin(async { Ok(SaveEventStatus::Success) });
        }
        self.0.save_event(event)
    }

    fn check_id<'a>(&'a self, id: &'a EventId) -> BoxedFuture<'a, Result<DatabaseEventStatus, DatabaseError>> {
        self.0.check_id(id)
    }

    fn event_by_id<'a>(&'a self, id: &'a EventId) -> BoxedFuture<'a, Result<Option<Event>, DatabaseError>> {
        self.0.event_by_id(id)
    }

    fn count(&self, filter: Filter) -> BoxedFuture<'_, Result<usize, DatabaseError>> {
        self.0.count(filter)
    }

    fn query(&self, filter: Filter) -> BoxedFuture<'_, Result<Events, DatabaseError>> {
        self.0.query(filter)
    }

    fn delete(&self, filter: Filter) -> BoxedFuture<'_, Result<(), DatabaseError>> {
        self.0.delete(filter)
    }

    fn wipe(&self) -> BoxedFuture<'_, Result<(), DatabaseError>> {
        self.0.wipe()
    }
}
