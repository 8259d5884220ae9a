use std::fmt;

use async_trait::async_trait;
use usher_protocol::message::PaymentHash;
use usher_protocol::{EventId, PublicKey};

use super::{
    AuditStore, BookedPayment, CorrelationKey, NewAuditEntry, NewIdempotencyRecord, Passkey, PasskeyChange,
    PasskeyCount, PaymentFilter, PaymentRecord, SignerSession, UserStore,
};
use crate::event::{Event, NewEvent};
use crate::operations::OperationKind;
use crate::{Origin, StreamId, UnixMillis};

/// Durable storage of operations, events and messages. All engines pass `usher_store::conformance`.
#[async_trait]
pub trait Store: UserStore + AuditStore {
    /// Commits one step of one operation, or nothing; with `Done` it is on disk. Concurrent commits share a transaction
    /// (group commit), but each succeeds or conflicts separately.
    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        match self.commit_all(vec![commit]).await? {
            AllCommitted::Done(heads) => match heads.first() {
                Some(head) => Ok(Committed::Done { revision: head.revision, next_index: head.next_index }),
                None => Err(StoreError::Unexpected("a commit has no result")),
            },
            AllCommitted::Conflict(conflict) => Ok(Committed::Conflict(conflict)),
        }
    }

    /// Commits steps of several different operations together: all of them or none.
    async fn commit_all(&self, commits: Vec<Commit>) -> Result<AllCommitted, StoreError>;

    /// The operation; `None` if it never existed or was removed after its retention.
    async fn operation(&self, id: StreamId) -> Result<Option<StoredOperation>, StoreError>;

    /// The open operation that has this correlation key; `None` also for a key that a finished operation keeps.
    async fn operation_with_key(&self, key: CorrelationKey) -> Result<Option<(StreamId, StoredOperation)>, StoreError>;

    /// Up to `limit` events of a stream with `index >= after`, oldest first, up to the first one that cannot be read; empty for
    /// an unknown stream. That one is an error ([`StoreError::DamagedEvent`]) when it would be the first. So is an event whose
    /// data is not the text of a JSON object.
    async fn events(&self, stream: StreamId, after: u64, limit: usize) -> Result<Vec<Event>, StoreError>;

    /// [`operation`](Self::operation) and, if there is one, its [`events`](Self::events): one question to the store where that
    /// is cheaper. The events are at least as new as the operation.
    async fn operation_and_events(
        &self,
        id: StreamId,
        after: u64,
        limit: usize,
    ) -> Result<Option<(StoredOperation, Result<Vec<Event>, StoreError>)>, StoreError> {
        let Some(operation) = self.operation(id).await? else { return Ok(None) };
        Ok(Some((operation, self.events(id, after, limit).await)))
    }

    /// The messages that an operation has in the outbox, by slot.
    async fn outbox(&self, operation: StreamId) -> Result<Vec<OutboxMessage>, StoreError>;

    /// Unfinished operations after `after`, in order of id, at most `limit`. Of damaged ones, what can be read of them.
    async fn open_operations(&self, after: Option<StreamId>, limit: usize) -> Result<Vec<OpenOperation>, StoreError>;

    /// Unfinished subscriptions after `after`, in order of id, at most `limit`, without damaged ones.
    async fn subscriptions(
        &self,
        after: Option<StreamId>,
        limit: usize,
    ) -> Result<Vec<(StreamId, StoredOperation)>, StoreError>;

    /// The relays a user prefers, in their order; empty when unknown.
    async fn user_relays(&self, main_key: &PublicKey) -> Result<Vec<String>, StoreError>;

    /// The session with a user's remote signer, if one is kept ([`Commit::user_signers`]).
    async fn user_signer(&self, main_key: &PublicKey) -> Result<Option<SignerSession>, StoreError>;

    /// Forgets the session with a user's remote signer; returns whether there was one.
    async fn forget_user_signer(&self, main_key: &PublicKey) -> Result<bool, StoreError>;

    /// The passkey with this id ([`Commit::passkeys`]).
    async fn passkey(&self, credential_id: &[u8]) -> Result<Option<Passkey>, StoreError>;

    /// How many passkeys are kept, and how many of them are this user's.
    async fn passkey_count(&self, main_key: &PublicKey) -> Result<PasskeyCount, StoreError>;

    /// Removes a user's passkeys; returns how many.
    async fn forget_passkeys(&self, main_key: &PublicKey) -> Result<usize, StoreError>;

    /// Removes passkeys that were registered before this time and not used again, at most `limit`; returns how many.
    async fn forget_unused_passkeys(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError>;

    /// Payments in the books, in the order in which they were requested, after this one, at most `limit`, without damaged ones.
    async fn payment_records(
        &self,
        filter: PaymentFilter,
        after: Option<StreamId>,
        limit: usize,
    ) -> Result<Vec<BookedPayment>, StoreError>;

    /// A payment in the books.
    async fn payment_record(&self, id: StreamId) -> Result<Option<BookedPayment>, StoreError>;

    /// How much of a payment is refunded, or is being refunded, in millisats: the amounts of the refunds that are not known to be
    /// unpaid.
    async fn refunded(&self, payment: StreamId) -> Result<u64, StoreError>;

    /// Whether an invoice with this payment hash was paid, by the books.
    async fn is_paid(&self, hash: PaymentHash) -> Result<bool, StoreError>;

    /// Removes payments that were last changed before `before` and are not open from the books, at most `limit`; returns how many.
    async fn forget_payment_records(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError>;

    /// Removes operations finished before `finished_before` with all their data, at most `limit`; returns how many. One
    /// with pending deliveries stays until they are delivered or given up.
    async fn remove_finished(&self, finished_before: UnixMillis, limit: usize) -> Result<usize, StoreError>;

    /// Removes those of these operations that have finished without an event.
    async fn remove_without_events(&self, ids: Vec<StreamId>) -> Result<(), StoreError>;

    /// Removes eventless operations of this kind finished before `finished_before`, at most `limit`; returns how many.
    async fn remove_eventless(
        &self,
        kind: OperationKind,
        finished_before: UnixMillis,
        limit: usize,
    ) -> Result<usize, StoreError>;

    /// Removes the first events of an open stream, at most `limit`; returns how many. Stops before the first that
    /// happened at `before` or later, has a delivery, or is the newest: the rest has no gap, and the index continues.
    async fn remove_events(&self, stream: StreamId, before: UnixMillis, limit: usize) -> Result<usize, StoreError>;

    /// Records that these users' relays and signers are in use at `at`, as a commit does that sends a user a message.
    async fn keep_user_relays(&self, users: &[PublicKey], at: UnixMillis) -> Result<(), StoreError>;

    /// Removes relays and signers of users last named or in use before `before`, at most `limit`; returns of how many.
    async fn forget_user_relays(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError>;

    /// Removes inbound event ids recorded before `before`, at most `limit`; returns how many.
    async fn forget_inbound(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError>;

    /// Frees correlation keys that finished operations kept until before `before`, at most `limit`; returns how many.
    async fn forget_kept_keys(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError>;
}

/// One step of one operation.
#[derive(Clone, Debug)]
pub struct Commit {
    /// The operation.
    pub operation: StreamId,
    /// Its kind.
    pub kind: OperationKind,
    /// Who started it. Stored when it is created, and not changed by later steps.
    pub origin: Option<Origin>,
    /// What the store must hold for the commit to happen.
    pub expected: Revision,
    /// When the step happened.
    pub at: UnixMillis,
    /// The new state.
    pub state: State,
    /// Finished: its outbox and its correlation keys, except the [kept](Self::kept), are removed; retention begins.
    pub finished: bool,
    /// Correlation keys that no other operation can claim until the given time, although this one is finished.
    pub kept: Vec<(CorrelationKey, UnixMillis)>,
    /// No further events are expected, although more may come: readers that wait for its events can stop waiting.
    pub done: bool,
    /// The payment hash of an invoice of the service that may be paid; replaces the one watched before.
    pub watched: Option<PaymentHash>,
    /// When the operation is to be woken; replaces the previous time.
    pub wake_at: Option<UnixMillis>,
    /// Correlation keys the operation claims beside those it has; each belongs to one operation at a time.
    pub claims: Vec<CorrelationKey>,
    /// Events to append to the stream.
    pub events: Vec<NewEvent>,
    /// What happens to the operation's outgoing messages.
    pub outbox: OutboxChange,
    /// The inbound events that caused the step, each once: recorded, and a conflict when one was recorded before.
    pub inbound: Vec<EventId>,
    /// Users to remember, with their relays, which replace those known of each. Without relays those known stay.
    pub user_relays: Vec<UserRelays>,
    /// Users' remote signers to keep, or to forget. A user whose signer is kept is remembered.
    pub user_signers: Vec<UserSigner>,
    /// Passkeys that were registered or used.
    pub passkeys: Vec<PasskeyChange>,
    /// What the books say about it from now on, if it is a payment.
    pub payment_record: Option<PaymentRecord>,
    /// Whether the events are also delivered to the app's webhook: a pending delivery for each, due at once.
    pub deliver: bool,
    /// The queue of each delivery ([`Delivery::queue`](super::Delivery::queue)); the stream's own where one is missing.
    pub delivery_queues: Vec<StreamId>,
    /// The idempotency record of the request that caused the step; a conflict if there is one already.
    pub idempotency_record: Option<NewIdempotencyRecord>,
    /// The entry that the audit log gets with it.
    pub audit: Option<NewAuditEntry>,
}

/// An operation's state as JSON text. `Debug` leaves it out: it may hold secrets of its user.
#[derive(Clone, PartialEq, Eq)]
pub struct State(pub String);

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("State(…)")
    }
}

/// What a [`Commit`] expects of the stored operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revision {
    /// That there is none: the commit creates it, as revision 1.
    New,
    /// That it is at this revision: the commit makes it the next one.
    At(u64),
    /// That it is open, at whatever revision: for the reserved stream, to which many operations append.
    Any,
}

/// What happens to an operation's outgoing messages.
#[derive(Clone, Debug, Default)]
pub enum OutboxChange {
    /// They stay.
    #[default]
    Keep,
    /// They go, and these take their place (none: the outbox is emptied). Slots are numbered from 0 in this order.
    Replace(Vec<OutboxMessage>),
    /// They stay, and these come after them.
    Add(Vec<OutboxMessage>),
    /// They stay, but are not sent again before this time.
    Pause(UnixMillis),
}

/// A message to a user. It is sent repeatedly until the operation removes it from the outbox.
#[derive(Clone, PartialEq, Eq)]
pub struct OutboxMessage {
    /// Event kind (`usher_protocol::kind`).
    pub kind: u16,
    /// The message's JSON text.
    pub content: String,
    /// The user: whose preferred relays are used.
    pub main_key: PublicKey,
    /// The keys to encrypt it to.
    pub recipients: Vec<PublicKey>,
    /// Every key taking part on the far side: the `p` tags.
    pub participants: Vec<PublicKey>,
    /// After this it is no longer sent.
    pub until: UnixMillis,
    /// When it was put into the outbox, set by the engine. Repetitions soon after that are the same event.
    pub made_at: UnixMillis,
    /// Before this it is not sent again.
    pub not_before: UnixMillis,
}

impl fmt::Debug for OutboxMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutboxMessage").field("kind", &self.kind).finish_non_exhaustive()
    }
}

/// The result of a [`Commit`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Committed {
    /// It is on disk.
    Done {
        /// The operation's revision now.
        revision: u64,
        /// The index the stream's next event will get.
        next_index: u64,
    },
    /// Nothing was changed.
    Conflict(Conflict),
}

/// The result of commits that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllCommitted {
    /// They are on disk: what became of each operation, in the order of the commits.
    Done(Vec<OperationHead>),
    /// Nothing was changed.
    Conflict(Conflict),
}

/// The revision and the next index of an operation after a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationHead {
    /// Its revision now.
    pub revision: u64,
    /// The index the stream's next event will get.
    pub next_index: u64,
}

/// Why a commit changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// The operation is at another revision, finished, or gone (for `New`: it is there already).
    Revision,
    /// A claimed correlation key belongs to this operation.
    Correlation(StreamId),
    /// The inbound event was handled before.
    InboundSeen,
    /// This request has an idempotency record that has not expired. Checked first: a repetition gets its response.
    AlreadyRequested,
}

/// A stored operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredOperation {
    /// Its kind.
    pub kind: OperationKind,
    /// Who started it.
    pub origin: Option<Origin>,
    /// Its state.
    pub state: State,
    /// Its revision.
    pub revision: u64,
    /// The index its stream's next event will get.
    pub next_index: u64,
    /// Whether nothing more is expected of it.
    pub done: bool,
    /// When it was finished.
    pub finished_at: Option<UnixMillis>,
}

/// What a step has to know of the stored operation that it continues, beside its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// Its revision.
    pub revision: u64,
    /// Who started it.
    pub origin: Option<Origin>,
}

impl StoredOperation {
    /// Its version.
    pub const fn version(&self) -> Version {
        Version { revision: self.revision, origin: self.origin }
    }
}

/// What the engine's index knows of an unfinished operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenOperation {
    /// The operation.
    pub id: StreamId,
    /// Its kind.
    pub kind: OperationKind,
    /// The index its stream's next event will get.
    pub next_index: u64,
    /// When it was committed last; the epoch when that was by a version that did not record it.
    pub at: UnixMillis,
    /// When it wants to be woken.
    pub wake_at: Option<UnixMillis>,
    /// Whether nothing more is expected of it.
    pub done: bool,
    /// The payment hash of its invoice, if it has one of the service that may be paid.
    pub watched: Option<PaymentHash>,
    /// Its correlation keys.
    pub correlations: Vec<CorrelationKey>,
    /// Whether it has messages in the outbox.
    pub has_outbox: bool,
    /// Its row is damaged: the other fields are not reliable, and those that could not be read are empty.
    pub damaged: bool,
}

/// Relays at which a user can be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserRelays {
    /// The user.
    pub main_key: PublicKey,
    /// Addresses, in the user's order.
    pub relays: Vec<String>,
}

/// What is known of a user's remote signer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserSigner {
    /// The user.
    pub main_key: PublicKey,
    /// The session by which it is reached.
    pub session: SignerSession,
    /// What becomes of the session.
    pub update: SignerSessionUpdate,
}

/// What becomes of a session with a user's remote signer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignerSessionUpdate {
    /// It is kept from now on, in place of any other.
    Store,
    /// It is kept in place of this one. Nothing happens if this one was forgotten or another took its place.
    Replace(SignerSession),
    /// It is forgotten, unless another took its place.
    Remove,
}

/// The store failed. The operation may or may not have been stored; after a restart the store has the truth.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The store's engine failed: disk full, input/output error, a corrupt file.
    #[error("the store failed")]
    Failed(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Stored data cannot be interpreted.
    #[error("the store holds something this version cannot read: {0}")]
    Unreadable(&'static str),
    /// Something is so that cannot be: a defect of the program, and not of what is stored.
    #[error("a defect: {0}")]
    Unexpected(&'static str),
    /// The first of the events that were asked for cannot be read.
    #[error("event {index} cannot be read")]
    DamagedEvent {
        /// Its index.
        index: u64,
    },
    /// Another instance is the active one, or none is: nothing was changed, and nothing will be.
    #[error("this instance is not the active one")]
    NotActive,
    /// The store has been shut down.
    #[error("the store is closed")]
    Closed,
}
