use async_trait::async_trait;
use usher_protocol::message::PaymentHash;
use usher_protocol::{EventId, PublicKey};

use super::{
    AuditStore, BookedPayment, CorrelationKey, EndedLogin, HourlySums, LoginFilter, LoginPosition, LoginRecord,
    Matches, NewAuditEntry, NewIdempotencyRecord, Passkey, PasskeyChange, PasskeyCount, PaymentFilter, PaymentPosition,
    PaymentRecord, PaymentSearch, SignerSession, StoreError, UserStore,
};
use crate::event::{Event, NewEvent};
use crate::machine::OperationKind;
use crate::{Order, Origin, StreamId, UnixMillis};

/// Durable storage of operations, events and messages. All engines pass `usher_store::conformance`.
#[async_trait]
pub trait Store: UserStore + AuditStore {
    /// Commits one step of one operation, or nothing; after `Done` it is on disk. Concurrent commits share a
    /// transaction (group commit), but each succeeds or conflicts separately.
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

    /// The open operation that holds this correlation key; `None` also for a key kept by a finished operation.
    async fn operation_with_key(&self, key: CorrelationKey) -> Result<Option<(StreamId, StoredOperation)>, StoreError>;

    /// Up to `limit` events of a stream with `index >= after`, oldest first, up to the first unreadable one; empty for
    /// an unknown stream. If the first one is unreadable, or its data is not a JSON object, that is an error
    /// ([`StoreError::DamagedEvent`]).
    async fn events(&self, stream: StreamId, after: u64, limit: usize) -> Result<Vec<Event>, StoreError>;

    /// [`operation`](Self::operation) and, if it exists, its [`events`](Self::events), in one query where that is
    /// cheaper. The events are at least as new as the operation.
    async fn operation_and_events(
        &self,
        id: StreamId,
        after: u64,
        limit: usize,
    ) -> Result<Option<(StoredOperation, Result<Vec<Event>, StoreError>)>, StoreError> {
        let Some(operation) = self.operation(id).await? else { return Ok(None) };
        Ok(Some((operation, self.events(id, after, limit).await)))
    }

    /// The messages of an operation in the outbox, by slot.
    async fn outbox(&self, operation: StreamId) -> Result<Vec<OutboxMessage>, StoreError>;

    /// At most `limit` unfinished operations after `after`, in order of id. Damaged ones with their readable parts.
    async fn open_operations(&self, after: Option<StreamId>, limit: usize) -> Result<Vec<OpenOperation>, StoreError>;

    /// At most `limit` unfinished subscriptions after `after`, in this order of their ids, without damaged ones.
    async fn subscriptions(
        &self,
        order: Order,
        after: Option<StreamId>,
        limit: usize,
    ) -> Result<Vec<(StreamId, StoredOperation)>, StoreError>;

    /// The relays a user prefers, in their order; empty when unknown.
    async fn user_relays(&self, main_key: &PublicKey) -> Result<Vec<String>, StoreError>;

    /// The session with a user's remote signer, if stored ([`Commit::user_signers`]).
    async fn user_signer(&self, main_key: &PublicKey) -> Result<Option<SignerSession>, StoreError>;

    /// Removes the session with a user's remote signer; returns whether there was one.
    async fn forget_user_signer(&self, main_key: &PublicKey) -> Result<bool, StoreError>;

    /// The passkey with this id ([`Commit::passkeys`]).
    async fn passkey(&self, credential_id: &[u8]) -> Result<Option<Passkey>, StoreError>;

    /// The number of all passkeys, and of this user's.
    async fn passkey_count(&self, main_key: &PublicKey) -> Result<PasskeyCount, StoreError>;

    /// Removes a user's passkeys; returns how many.
    async fn forget_passkeys(&self, main_key: &PublicKey) -> Result<usize, StoreError>;

    /// Removes at most `limit` passkeys registered before this time and not used since; returns how many.
    async fn forget_unused_passkeys(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError>;

    /// At most `limit` payments in the books after this one, in the order of their requests, without damaged ones.
    async fn payment_records(
        &self,
        filter: PaymentFilter,
        after: Option<StreamId>,
        limit: usize,
    ) -> Result<Vec<BookedPayment>, StoreError>;

    /// At most `limit` of these payments in the books that were requested before this one, the last first, without
    /// damaged ones. Status and direction need not be selected, so that the number of rows read is bounded.
    async fn newest_payments(
        &self,
        search: &PaymentSearch,
        filter: PaymentFilter,
        before: Option<PaymentPosition>,
        limit: usize,
    ) -> Result<Vec<BookedPayment>, StoreError>;

    /// At most `limit` payments in the books of more than `above` millisats that were settled at `from` or later, the first
    /// one first, without damaged ones.
    async fn large_payments(
        &self,
        above: u64,
        from: UnixMillis,
        limit: usize,
    ) -> Result<Vec<BookedPayment>, StoreError>;

    /// A payment in the books.
    async fn payment_record(&self, id: StreamId) -> Result<Option<BookedPayment>, StoreError>;

    /// The refunded amount of a payment in millisats: the sum of its refunds that are not known to be unpaid.
    async fn refunded(&self, payment: StreamId) -> Result<u64, StoreError>;

    /// Whether an invoice with this payment hash was paid, by the books, or a finished operation keeps its key: of several
    /// invoices that paid one payment, the books have one.
    async fn is_paid(&self, hash: PaymentHash) -> Result<bool, StoreError>;

    /// Removes at most `limit` payments from the books that were last changed before `before` and are not open; returns
    /// how many.
    async fn forget_payment_records(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError>;

    /// The sums of the hours with these numbers since the Unix epoch, from `from` on and before `to`, in their order;
    /// without those in which nothing happened.
    async fn hourly_sums(&self, from: u64, to: u64) -> Result<Vec<HourlySums>, StoreError>;

    /// Of the records of logins that ended before this one, the last first, the next `most` that fit; or, of one subject
    /// ([`LoginFilter::of`]), those that fit among the next `most`. Without damaged ones.
    async fn login_records(
        &self,
        filter: LoginFilter,
        after: Option<LoginPosition>,
        most: usize,
    ) -> Result<Matches<EndedLogin, LoginPosition>, StoreError>;

    /// Removes at most `limit` records of logins that ended before `before`; returns how many.
    async fn forget_login_records(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError>;

    /// Removes at most `limit` operations finished before `finished_before`, with all their data; returns how many. One
    /// with pending deliveries stays until they are delivered or given up.
    async fn remove_finished(&self, finished_before: UnixMillis, limit: usize) -> Result<usize, StoreError>;

    /// Removes those of these operations that finished without an event.
    async fn remove_without_events(&self, ids: Vec<StreamId>) -> Result<(), StoreError>;

    /// Removes at most `limit` eventless operations of this kind finished before `finished_before`; returns how many.
    async fn remove_eventless(
        &self,
        kind: OperationKind,
        finished_before: UnixMillis,
        limit: usize,
    ) -> Result<usize, StoreError>;

    /// Removes at most `limit` of the first events of an open stream; returns how many. Stops before the first one that
    /// happened at `before` or later, has a delivery, or is the newest: the rest has no gap, and the index continues.
    async fn remove_events(&self, stream: StreamId, before: UnixMillis, limit: usize) -> Result<usize, StoreError>;

    /// Records that these users' relays and signers are in use at `at`, like a commit that sends a user a message.
    async fn keep_user_relays(&self, users: &[PublicKey], at: UnixMillis) -> Result<(), StoreError>;

    /// Removes relays and signers of at most `limit` users, last named or in use before `before`; returns of how many.
    async fn forget_user_relays(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError>;

    /// Removes at most `limit` inbound event ids recorded before `before`; returns how many.
    async fn forget_inbound(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError>;

    /// Frees at most `limit` correlation keys that finished operations kept until before `before`; returns how many.
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
    /// The expected state of the stored operation.
    pub expected: Revision,
    /// When the step happened.
    pub at: UnixMillis,
    /// The new state.
    pub state: State,
    /// Finished: its outbox and its correlation keys, except the [kept](Self::kept), are removed; retention begins.
    pub finished: bool,
    /// Correlation keys that no other operation can claim until the given time, although this one is finished.
    pub kept: Vec<(CorrelationKey, UnixMillis)>,
    /// No further events are expected, although more may come: readers can stop waiting.
    pub done: bool,
    /// The payment hash of an invoice of the service that may be paid; replaces the one watched before.
    pub watched: Option<PaymentHash>,
    /// When to wake the operation; replaces the previous time.
    pub wake_at: Option<UnixMillis>,
    /// Correlation keys that the operation claims in addition; each belongs to one operation at a time.
    pub claims: Vec<CorrelationKey>,
    /// The claimed keys are random, so that no other operation can have them: they are stored with the operation only, where
    /// [`Store::operation_with_key`] does not find them.
    pub random_keys: bool,
    /// Events to append to the stream.
    pub events: Vec<NewEvent>,
    /// The change of the operation's outgoing messages.
    pub outbox: OutboxChange,
    /// The inbound events that caused the step; a conflict if one was recorded before.
    pub inbound: Vec<EventId>,
    /// Users to record, with relays that replace the known ones. Without relays the known ones stay.
    pub user_relays: Vec<UserRelays>,
    /// Changes of users' remote signers. Storing one also records the user.
    pub user_signers: Vec<UserSigner>,
    /// Changes of passkeys.
    pub passkeys: Vec<PasskeyChange>,
    /// The new record in the books, if it is a payment.
    pub payment_record: Option<PaymentRecord>,
    /// How it ended, if it is a login.
    pub login_record: Option<LoginRecord>,
    /// Whether the events are also delivered to the app's webhook, each by a pending delivery due at once.
    pub deliver: bool,
    /// The queues of the deliveries ([`Delivery::queue`](super::Delivery::queue)); by default the stream's own.
    pub delivery_queues: Vec<StreamId>,
    /// The idempotency record of the request that caused the step; a conflict if one exists.
    pub idempotency_record: Option<NewIdempotencyRecord>,
    /// An entry for the audit log.
    pub audit: Option<NewAuditEntry>,
}

impl Commit {
    /// A step that changes the state and nothing else.
    pub const fn of(
        operation: StreamId,
        kind: OperationKind,
        expected: Revision,
        at: UnixMillis,
        state: State,
    ) -> Self {
        Self {
            operation,
            kind,
            origin: None,
            expected,
            at,
            state,
            finished: false,
            kept: Vec::new(),
            done: false,
            watched: None,
            wake_at: None,
            claims: Vec::new(),
            random_keys: false,
            events: Vec::new(),
            outbox: OutboxChange::Keep,
            inbound: Vec::new(),
            user_relays: Vec::new(),
            user_signers: Vec::new(),
            passkeys: Vec::new(),
            payment_record: None,
            login_record: None,
            deliver: false,
            delivery_queues: Vec::new(),
            idempotency_record: None,
            audit: None,
        }
    }
}

/// An operation's state as JSON text. `Debug` omits it, because it may contain users' secrets.
#[derive(Clone, PartialEq, Eq)]
pub struct State(pub String);

usher_protocol::debug_shows!(State(..));

/// The stored operation that a [`Commit`] expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revision {
    /// None: the commit creates it, at revision 1.
    New,
    /// One at this revision: the commit increments it.
    At(u64),
    /// An open one at any revision: for the reserved stream, to which many operations append.
    Any,
}

/// A change of an operation's outgoing messages.
#[derive(Clone, Debug, Default)]
pub enum OutboxChange {
    /// No change.
    #[default]
    Keep,
    /// They are replaced by these; by none, to empty the outbox. Slots are numbered from 0 in this order.
    Replace(Vec<OutboxMessage>),
    /// These are added after them.
    Add(Vec<OutboxMessage>),
    /// They are not sent again before this time.
    Pause(UnixMillis),
}

/// A message to a user. It is sent repeatedly until the operation removes it from the outbox.
#[derive(Clone, PartialEq, Eq)]
pub struct OutboxMessage {
    /// Event kind (`usher_protocol::kind`).
    pub kind: u16,
    /// The message's JSON text.
    pub content: String,
    /// The user, whose preferred relays are used.
    pub main_key: PublicKey,
    /// The keys to which it is encrypted.
    pub recipients: Vec<PublicKey>,
    /// All keys of the other side: the `p` tags.
    pub participants: Vec<PublicKey>,
    /// After this it is no longer sent.
    pub until: UnixMillis,
    /// When the engine put it into the outbox. Repetitions soon after that use the same event.
    pub made_at: UnixMillis,
    /// Before this it is not sent again.
    pub not_before: UnixMillis,
}

usher_protocol::debug_shows!(OutboxMessage { kind });

/// The result of a [`Commit`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Committed {
    /// It is on disk.
    Done {
        /// The operation's revision now.
        revision: u64,
        /// The index of the stream's next event.
        next_index: u64,
    },
    /// Nothing was changed.
    Conflict(Conflict),
}

/// The result of commits in one batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllCommitted {
    /// On disk: the new head of each operation, in the order of the commits.
    Done(Vec<OperationHead>),
    /// Nothing was changed.
    Conflict(Conflict),
}

/// The revision and the next index of an operation after a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationHead {
    /// Its revision now.
    pub revision: u64,
    /// The index of the stream's next event.
    pub next_index: u64,
}

/// Why a commit changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// The operation is at another revision, finished, or missing (for `New`: it exists).
    Revision,
    /// A claimed correlation key is held by this operation.
    Correlation(StreamId),
    /// The inbound event was handled before.
    InboundSeen,
    /// The request has an unexpired idempotency record. Checked first, so that a repetition gets its response.
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
    /// The index of its stream's next event.
    pub next_index: u64,
    /// Whether no further events are expected.
    pub done: bool,
    /// When it was finished.
    pub finished_at: Option<UnixMillis>,
}

/// What a step needs to know of the stored operation besides its state.
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

/// An unfinished operation, for the engine's index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenOperation {
    /// The operation.
    pub id: StreamId,
    /// Its kind.
    pub kind: OperationKind,
    /// The index of its stream's next event.
    pub next_index: u64,
    /// When it was last committed; the epoch if by a version that did not record it.
    pub at: UnixMillis,
    /// When to wake it.
    pub wake_at: Option<UnixMillis>,
    /// Whether no further events are expected.
    pub done: bool,
    /// The payment hash of its invoice, if that is the service's and may be paid.
    pub watched: Option<PaymentHash>,
    /// Its correlation keys.
    pub correlations: Vec<CorrelationKey>,
    /// Whether it has messages in the outbox.
    pub has_outbox: bool,
    /// Whether its row is damaged: other fields are unreliable, and empty if unreadable.
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

/// A user's remote signer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserSigner {
    /// The user.
    pub main_key: PublicKey,
    /// The session by which it is reached.
    pub session: SignerSession,
    /// The change of the session.
    pub update: SignerSessionUpdate,
}

/// A change of the session with a user's remote signer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignerSessionUpdate {
    /// Stores it, replacing any other.
    Store,
    /// Stores it in place of this one, unless this one was removed or replaced.
    Replace(SignerSession),
    /// Removes it, unless it was replaced.
    Remove,
}

impl NewAuditEntry {
    /// Adds the operation that the commit changes, and the amount if it is a payment.
    #[must_use]
    pub fn about(mut self, commit: &Commit) -> Self {
        self.details.insert("stream_id".to_owned(), commit.operation.to_string().into());
        if let Some(payment) = &commit.payment_record {
            self.details.insert("amount_millisats".to_owned(), payment.amount.into());
        }
        self
    }
}
