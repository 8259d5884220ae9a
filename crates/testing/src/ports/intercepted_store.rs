//! A store with something between it and its callers, which sees every call before it begins.

use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use usher_protocol::PublicKey;
use usher_protocol::message::PaymentHash;

use usher_engine::event::Event;
use usher_engine::operations::Operation;
use usher_engine::ports::{
    AllCommitted, AuditBounds, AuditEntry, AuditKey, AuditReader, AuditStore, BookedPayment, Commit, CorrelationKey,
    Delivery, DeliveryAttempt, DeliveryCounts, DeliveryStatus, DeliveryStore, EndedLogin, ForgottenUser, HourlySums,
    IdempotencyKey, IdempotencyRecord, IdempotencyStore, KeyId, KeyStore, LoginFilter, LoginPosition, Matches,
    NewAuditEntry, NewIdempotencyRecord, OpenOperation, OperationKind, OutboxMessage, Passkey, PasskeyCount,
    PaymentFilter, PaymentPosition, PaymentSearch, ProofId, Retried, Revision, SettingStore, SignerSession, Store,
    StoreError, StoredKey, StoredOperation, StoredProof, StoredTicketJob, StreamMatches, TicketBalance, TicketCommit,
    TicketCommitted, TicketJobId, TicketStore, UserRecords, UserStore,
};
use usher_engine::{Order, StreamId, UnixMillis};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreCall {
    /// The port's method; `create` instead of `commit_all` if an operation is created.
    pub method: &'static str,
    pub writes: bool,
}

pub type Run<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// What stands between a store and its callers.
pub trait Interceptor: Send + Sync {
    fn around<T: Send>(&self, call: StoreCall, run: Run<'_, T>) -> impl Future<Output = Result<T, StoreError>> + Send;

    /// The same transaction of operations, noted when it is done.
    fn note_commits<'a>(&'a self, commits: &'a [Commit], run: Run<'a, AllCommitted>) -> Run<'a, AllCommitted> {
        commits.iter().for_each(about_whom_it_names);
        run
    }

    /// The same attempt to deliver an event, noted when it is recorded.
    fn note_attempt<'a>(&'a self, _attempt: &'a DeliveryAttempt, run: Run<'a, bool>) -> Run<'a, bool> {
        run
    }
}

/// Whatever an operation is: one whose state names a user is found when that user is erased.
fn about_whom_it_names(commit: &Commit) {
    let Ok(operation) = Operation::from_state(&commit.state) else { return };
    let state: Value = serde_json::from_str(&commit.state.0).unwrap_or_default();
    let user = if state["main_key"].is_null() { &state["asked"] } else { &state };
    for key in [&user["main_key"], &user["asked"]].into_iter().filter_map(Value::as_str) {
        let key = PublicKey::from_hex(key).unwrap_or_else(|_| panic!("no key: {key}"));
        assert!(operation.is_about(&key), "{:?} is about {key}", operation.kind());
    }
}

pub struct InterceptedStore<S: ?Sized, I> {
    store: Arc<S>,
    interceptor: I,
}

impl<S: ?Sized, I> InterceptedStore<S, I> {
    pub const fn new(store: Arc<S>, interceptor: I) -> Self {
        Self { store, interceptor }
    }
}

impl<S: ?Sized, I> std::ops::Deref for InterceptedStore<S, I> {
    type Target = I;

    fn deref(&self) -> &I {
        &self.interceptor
    }
}

/// Implements a port by its methods: in brackets those that the interceptor notes and their names, and of the others whether
/// they read or write.
macro_rules! intercepted {
    (
        $port:ident {
            $([$noted:ident($noted_argument:ident: $noted_type:ty) -> $noted_result:ty, $note:ident, $name:expr])*
            $($access:ident $method:ident($($argument:ident: $type:ty),*) -> $result:ty;)*
        }
    ) => {
        #[async_trait]
        impl<S: $port + ?Sized, I: Interceptor> $port for InterceptedStore<S, I> {
            $(
                async fn $noted(&self, $noted_argument: $noted_type) -> Result<$noted_result, StoreError> {
                    let call = StoreCall { method: ($name)(&$noted_argument), writes: true };
                    let run = self.store.$noted($noted_argument.clone());
                    self.interceptor.around(call, self.interceptor.$note(&$noted_argument, run)).await
                }
            )*
            $(
                async fn $method(&self, $($argument: $type),*) -> Result<$result, StoreError> {
                    let call = StoreCall { method: stringify!($method), writes: intercepted!($access) };
                    self.interceptor.around(call, self.store.$method($($argument),*)).await
                }
            )*
        }
    };
    (read) => { false };
    (write) => { true };
}

fn commit_name(commits: &[Commit]) -> &'static str {
    if commits.iter().any(|commit| commit.expected == Revision::New) { "create" } else { "commit_all" }
}

intercepted! {
    Store {
        [commit_all(commits: Vec<Commit>) -> AllCommitted, note_commits, commit_name]
        read operation(id: StreamId) -> Option<StoredOperation>;
        read operation_with_key(key: CorrelationKey) -> Option<(StreamId, StoredOperation)>;
        read events(stream: StreamId, after: u64, limit: usize) -> Vec<Event>;
        read outbox(operation: StreamId) -> Vec<OutboxMessage>;
        read open_operations(after: Option<StreamId>, limit: usize) -> Vec<OpenOperation>;
        read subscriptions(order: Order, after: Option<StreamId>, limit: usize) -> Vec<(StreamId, StoredOperation)>;
        read user_relays(main_key: &PublicKey) -> Vec<String>;
        read user_signer(main_key: &PublicKey) -> Option<SignerSession>;
        write forget_user_signer(main_key: &PublicKey) -> bool;
        read passkey(credential_id: &[u8]) -> Option<Passkey>;
        read passkey_count(main_key: &PublicKey) -> PasskeyCount;
        write forget_passkeys(main_key: &PublicKey) -> usize;
        write forget_unused_passkeys(before: UnixMillis, limit: usize) -> usize;
        read payment_records(filter: PaymentFilter, after: Option<StreamId>, limit: usize) -> Vec<BookedPayment>;
        read newest_payments(search: &PaymentSearch, filter: PaymentFilter, before: Option<PaymentPosition>, limit: usize) -> Vec<BookedPayment>;
        read large_payments(above: u64, from: UnixMillis, limit: usize) -> Vec<BookedPayment>;
        read payment_record(id: StreamId) -> Option<BookedPayment>;
        read refunded(payment: StreamId) -> u64;
        read is_paid(hash: PaymentHash) -> bool;
        write forget_payment_records(before: UnixMillis, limit: usize) -> usize;
        read hourly_sums(from: u64, to: u64) -> Vec<HourlySums>;
        read login_records(filter: LoginFilter, after: Option<LoginPosition>, most: usize) -> Matches<EndedLogin, LoginPosition>;
        write forget_login_records(before: UnixMillis, limit: usize) -> usize;
        write remove_finished(finished_before: UnixMillis, limit: usize) -> usize;
        write remove_without_events(ids: Vec<StreamId>) -> ();
        write remove_eventless(kind: OperationKind, finished_before: UnixMillis, limit: usize) -> usize;
        write remove_events(stream: StreamId, before: UnixMillis, limit: usize) -> usize;
        write keep_user_relays(users: &[PublicKey], at: UnixMillis) -> ();
        write forget_user_relays(before: UnixMillis, limit: usize) -> usize;
        write forget_inbound(before: UnixMillis, limit: usize) -> usize;
        write forget_kept_keys(before: UnixMillis, limit: usize) -> usize;
    }
}

intercepted! {
    UserStore {
        write forget_user(main_key: &PublicKey) -> ForgottenUser;
        write forget_relays_of(main_key: &PublicKey) -> bool;
        read user_records(main_key: &PublicKey) -> UserRecords;
        read streams_with(text: &str, after: Option<StreamId>, limit: usize) -> StreamMatches;
        read idempotency_records_with(text: &str, after: Option<IdempotencyKey>, limit: usize) -> Matches<UnixMillis, IdempotencyKey>;
        write remove_finished_of(ids: Vec<StreamId>) -> Vec<StreamId>;
    }
}

intercepted! {
    AuditReader {
        read audit_entries(after: u64, limit: usize) -> Vec<AuditEntry>;
        read audit_bounds() -> AuditBounds;
    }
}

intercepted! {
    AuditStore {
        write add_audit_entry(entry: NewAuditEntry) -> ();
        write forget_audit_entries(before: UnixMillis, limit: usize, key: &AuditKey) -> usize;
    }
}

intercepted! {
    DeliveryStore {
        [record_attempt(attempt: DeliveryAttempt) -> bool, note_attempt, |_| "record_attempt"]
        read next_delivery(queue: StreamId) -> Option<Delivery>;
        read pending_queues(after: Option<StreamId>, limit: usize) -> Vec<(StreamId, UnixMillis)>;
        write set_aside_delivery(queue: StreamId, at: UnixMillis) -> Option<(StreamId, u64)>;
        read deliveries(status: DeliveryStatus, after: Option<(StreamId, u64)>, limit: usize) -> Vec<Delivery>;
        read delivery(stream: StreamId, index: u64) -> Option<Delivery>;
        write retry_delivery(stream: StreamId, index: u64, at: UnixMillis, record: Option<NewIdempotencyRecord>) -> Retried;
        read count_deliveries() -> DeliveryCounts;
        write forget_deliveries(before: UnixMillis, limit: usize) -> usize;
    }
}

intercepted! {
    IdempotencyStore {
        read idempotency_record(key: &IdempotencyKey) -> Option<IdempotencyRecord>;
        write add_idempotency_record(new: NewIdempotencyRecord) -> bool;
        write remove_idempotency_records(before: UnixMillis, limit: usize) -> usize;
    }
}

intercepted! {
    KeyStore {
        read keys() -> Vec<Result<StoredKey, StoreError>>;
        write put_key(key: StoredKey) -> ();
        write remove_key(id: KeyId) -> bool;
        write note_key_uses(uses: Vec<(KeyId, [Option<UnixMillis>; 2])>) -> ();
    }
}

intercepted! {
    SettingStore {
        read setting(name: &str) -> Option<String>;
        write set_setting(name: &str, value: Option<&str>) -> ();
    }
}

intercepted! {
    TicketStore {
        write commit_tickets(commit: TicketCommit) -> TicketCommitted;
        read ticket_job(id: TicketJobId) -> Option<StoredTicketJob>;
        read unfinished_ticket_jobs(after: Option<TicketJobId>, limit: usize) -> Vec<TicketJobId>;
        read proof_claim(proof: ProofId) -> Option<TicketJobId>;
        read ticket_counter(mint_url: &str, keyset: &str) -> u32;
        read free_proofs(mint_url: &str, unit: &str, limit: usize) -> Vec<StoredProof>;
        read proofs(ids: &[ProofId]) -> Vec<StoredProof>;
        read ticket_balances() -> Vec<TicketBalance>;
        read set_aside_proofs(after: Option<ProofId>, limit: usize) -> Vec<StoredProof>;
        write return_set_aside(ids: &[ProofId]) -> usize;
        write remove_ticket_jobs(before: UnixMillis, limit: usize) -> usize;
    }
}
