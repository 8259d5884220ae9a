//! Builders of test data.

use usher_engine::event::{EventType, NewEvent};
use usher_engine::ports::{
    Commit, Committed, Conflict, CorrelationKey, DeliveryAttempt, DeliveryStatus, IdempotencyKey, IdempotencyRecord,
    LoginRecord, LoginRecordStatus, NewIdempotencyRecord, OperationKind, OutboxMessage, Passkey, PasskeyCredential,
    ProofId, Revision, SignerSession, SignerSessionUpdate, State, Store, StoredProof, TicketCommit, TicketJobId,
    UserRelays, UserSigner,
};
use usher_engine::{OperationOutcome, StreamId, UnixMillis};
use usher_protocol::{EventId, PublicKey};

/// The default time in these tests.
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

/// The `number`th public key (32 bytes, not a point on the curve).
pub fn public_key(number: u64) -> PublicKey {
    PublicKey::from_byte_array(bytes(number))
}

pub(super) fn bytes(number: u64) -> [u8; 32] {
    let mut bytes = [0xA5; 32];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    bytes
}

/// An event that contains `number`.
pub fn event(number: u64) -> NewEvent {
    NewEvent {
        event_type: EventType::StatusUpdate,
        at: UnixMillis(NOW.0 + number),
        data: format!(r#"{{"number":{number}}}"#).into(),
        outcome: OperationOutcome::Completed,
    }
}

/// A message that contains `number`.
pub fn message(number: u64) -> OutboxMessage {
    OutboxMessage {
        kind: 27_000,
        content: format!(r#"{{"challenge":"{number}"}}"#),
        main_key: public_key(number),
        recipients: vec![public_key(number), public_key(number + 1)],
        participants: vec![public_key(number), public_key(number + 2), public_key(number + 3)],
        until: UnixMillis(NOW.0 + number),
        made_at: UnixMillis(NOW.0.saturating_sub(number)),
        not_before: UnixMillis(number),
    }
}

/// A passkey with this id.
pub fn passkey(id: &[u8], user: u64) -> Passkey {
    let (user_handle, state) = (vec![1; 16], vec![0, 255, 7]);
    Passkey {
        credential: PasskeyCredential { id: id.to_vec(), user_handle, public_key: vec![2; 35], state },
        main_key: public_key(user),
        wrapped_key: None,
        created_at: UnixMillis(1_000),
        used_at: UnixMillis(1_000),
    }
}

/// A session with a remote signer.
pub fn user_signer(user: u64, session: &str, update: SignerSessionUpdate) -> UserSigner {
    UserSigner { main_key: public_key(user), session: SignerSession(session.to_owned()), update }
}

/// A user's relays.
pub fn user_relays(user: u64, relays: &[&str]) -> UserRelays {
    UserRelays { main_key: public_key(user), relays: relays.iter().map(|&relay| relay.to_owned()).collect() }
}

/// The key of the `number`th request.
pub fn idempotency_key(number: u64) -> IdempotencyKey {
    IdempotencyKey(bytes(number))
}

/// The record of the `number`th request, made at `at`; it replaces one made before `replace_before`.
pub fn new_record(number: u64, at: u64, replace_before: u64) -> NewIdempotencyRecord {
    let record = IdempotencyRecord {
        key: idempotency_key(number),
        fingerprint: bytes(at),
        at: UnixMillis(at),
        status: 200,
        media_type: "application/json".to_owned(),
        body: format!(r#"{{"at":{at}}}"#).into_bytes(),
    };
    NewIdempotencyRecord { record, replace_before: UnixMillis(replace_before) }
}

/// An attempt at `at` that was refused; the next one is due a thousand later.
pub fn refused(stream: StreamId, index: u64, at: u64) -> DeliveryAttempt {
    DeliveryAttempt {
        stream,
        index,
        at: UnixMillis(at),
        status: DeliveryStatus::Pending,
        due_at: UnixMillis(at + 1_000),
        http_status: Some(503),
        error: Some("the receiver said 503".to_owned()),
    }
}

/// An attempt at `at` that was accepted.
pub fn accepted(stream: StreamId, index: u64, at: u64) -> DeliveryAttempt {
    DeliveryAttempt {
        status: DeliveryStatus::Delivered,
        due_at: UnixMillis(at),
        http_status: Some(200),
        error: None,
        ..refused(stream, index, at)
    }
}

/// The last attempt, at `at`.
pub fn given_up(stream: StreamId, index: u64, at: u64) -> DeliveryAttempt {
    let error = Some("could not connect".to_owned());
    DeliveryAttempt { status: DeliveryStatus::Failed, http_status: None, error, ..refused(stream, index, at) }
}

/// How the login of the `number`th user ended.
pub fn ended_login(number: u64, status: LoginRecordStatus) -> LoginRecord {
    LoginRecord {
        reusable: None,
        status,
        method: Some("wallet".to_owned()),
        app: None,
        main_key: Some(public_key(number)),
        reason: None,
    }
}

/// A commit that only creates an operation.
pub fn create(operation: StreamId) -> Commit {
    let state = State(r#"{"revision":1}"#.to_owned());
    Commit::of(operation, OperationKind::KeyHandshake, Revision::New, NOW, state)
}

/// A commit that only takes an operation from `revision` to the next.
pub fn step(operation: StreamId, revision: u64) -> Commit {
    Commit {
        expected: Revision::At(revision),
        state: State(format!(r#"{{"revision":{}}}"#, revision.saturating_add(1))),
        ..create(operation)
    }
}

/// The id of the `number`th job of the ticket wallet.
pub fn ticket_job(number: u64) -> TicketJobId {
    TicketJobId(bytes(number))
}

/// The id of the `number`th proof.
pub fn proof_id(number: u64) -> ProofId {
    let mut id = [2; 33];
    id[1..].copy_from_slice(&bytes(number));
    ProofId(id)
}

/// The `number`th proof.
pub fn proof(number: u64, mint_url: &str, unit: &str, amount: u64) -> StoredProof {
    StoredProof {
        id: proof_id(number),
        mint_url: mint_url.to_owned(),
        unit: unit.to_owned(),
        amount,
        proof: format!(r#"{{"secret":"{number}"}}"#),
    }
}

/// A step that only takes the `number`th job from `revision` to the next; 0 creates it.
pub fn ticket_step(number: u64, revision: u64) -> TicketCommit {
    TicketCommit {
        job: ticket_job(number),
        expected: revision,
        at: NOW,
        state: State(format!(r#"{{"revision":{}}}"#, revision.saturating_add(1))),
        finished: false,
        counter: None,
        claims: Vec::new(),
        release_claims: false,
        add: Vec::new(),
        reserve: Vec::new(),
        set_aside: Vec::new(),
        release_reserved: false,
        remove_reserved: false,
    }
}

/// Commits successfully; returns the revision and the index of the stream's next event.
pub async fn commit_done(store: &dyn Store, commit: Commit) -> (u64, u64) {
    match store.commit(commit).await.expect("the store works") {
        Committed::Done { revision, next_index } => (revision, next_index),
        Committed::Conflict(conflict) => panic!("unexpected conflict: {conflict:?}"),
    }
}

/// Commits with a conflict.
pub async fn commit_conflicts(store: &dyn Store, commit: Commit) -> Conflict {
    match store.commit(commit).await.expect("the store works") {
        Committed::Conflict(conflict) => conflict,
        done @ Committed::Done { .. } => panic!("should have conflicted: {done:?}"),
    }
}
