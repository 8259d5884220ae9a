//! Short words for what the tests are made of.

use usher_engine::event::{EventType, NewEvent};
use usher_engine::ports::{
    Commit, Committed, Conflict, CorrelationKey, OperationKind, OutboxChange, OutboxMessage, Revision, State, Store,
};
use usher_engine::{StreamId, UnixMillis};
use usher_protocol::{EventId, PublicKey};

/// The time at which everything in these tests happens unless it says otherwise.
const NOW: UnixMillis = UnixMillis(1_763_600_000_000);

/// The `number`th stream id; they sort by number.
pub fn id(number: u64) -> StreamId {
    StreamId::from_parts(NOW.0 + number, [7; 10])
}

/// The correlation key of a token.
pub fn key(token: &str) -> CorrelationKey {
    CorrelationKey::token(token)
}

/// The `number`th inbound event.
pub fn inbound(number: u64) -> EventId {
    EventId::from_byte_array(bytes(number))
}

/// The `number`th public key (bytes only, no point of the curve).
pub fn public_key(number: u64) -> PublicKey {
    PublicKey::from_byte_array(bytes(number))
}

fn bytes(number: u64) -> [u8; 32] {
    let mut bytes = [0xA5; 32];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    bytes
}

/// An event that says `number`.
pub fn event(number: u64) -> NewEvent {
    NewEvent {
        event_type: EventType::StatusUpdate,
        at: UnixMillis(NOW.0 + number),
        data: format!(r#"{{"number":{number}}}"#).into(),
    }
}

/// A message that says `number`.
pub fn message(number: u64) -> OutboxMessage {
    OutboxMessage {
        kind: 27_000,
        content: format!(r#"{{"challenge":"{number}"}}"#),
        main_key: public_key(number),
        recipients: vec![public_key(number), public_key(number + 1)],
        participants: vec![public_key(number), public_key(number + 2), public_key(number + 3)],
        until: UnixMillis(NOW.0 + number),
    }
}

/// A commit that creates an operation, and nothing more.
pub fn create(operation: StreamId) -> Commit {
    Commit {
        operation,
        kind: OperationKind::KeyHandshake,
        expected: Revision::New,
        at: NOW,
        state: State(r#"{"revision":1}"#.to_owned()),
        finished: false,
        wake_at: None,
        claims: Vec::new(),
        events: Vec::new(),
        outbox: OutboxChange::Keep,
        inbound: None,
        user_relays: None,
    }
}

/// A commit that takes an operation from `revision` to the next, and nothing more.
pub fn step(operation: StreamId, revision: u64) -> Commit {
    Commit {
        expected: Revision::At(revision),
        state: State(format!(r#"{{"revision":{}}}"#, revision.saturating_add(1))),
        ..create(operation)
    }
}

/// Commits what must succeed; the revision and the index of the stream's next event.
pub async fn commit_done(store: &dyn Store, commit: Commit) -> (u64, u64) {
    match store.commit(commit).await.expect("the store works") {
        Committed::Done { revision, next_index } => (revision, next_index),
        Committed::Conflict(conflict) => panic!("unexpected conflict: {conflict:?}"),
    }
}

/// Commits what must conflict.
pub async fn commit_conflicts(store: &dyn Store, commit: Commit) -> Conflict {
    match store.commit(commit).await.expect("the store works") {
        Committed::Conflict(conflict) => conflict,
        done @ Committed::Done { .. } => panic!("should have conflicted: {done:?}"),
    }
}
