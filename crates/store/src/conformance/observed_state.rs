//! A snapshot of everything that can be read from a store.

use usher_engine::event::Event;
use usher_engine::ports::{
    BookedPayment, CorrelationKey, Delivery, DeliveryCounts, DeliveryStatus, EndedLogin, HourlySums, IdempotencyKey,
    IdempotencyRecord, LoginFilter, OpenOperation, OutboxMessage, PaymentFilter, ProofId, StoredOperation, StoredProof,
    StoredTicketJob, TicketBalance, TicketJobId,
};
use usher_engine::{Order, StreamId, UnixMillis};
use usher_protocol::PublicKey;

use super::FullStore;

/// The keys to query.
#[derive(Clone, Debug, Default)]
pub struct Subjects {
    /// Operations and their streams.
    pub streams: Vec<StreamId>,
    /// Correlation keys that operations may have.
    pub keys: Vec<CorrelationKey>,
    /// Users whose relays may be stored.
    pub users: Vec<PublicKey>,
    /// Requests that may have an idempotency record.
    pub calls: Vec<IdempotencyKey>,
    /// Names of settings.
    pub settings: Vec<String>,
    /// Jobs of the ticket wallet.
    pub ticket_jobs: Vec<TicketJobId>,
    /// Proofs of the ticket wallet, or claimed by it.
    pub proofs: Vec<ProofId>,
    /// Mints, each with a unit and a keyset.
    pub keysets: Vec<(String, String, String)>,
}

#[derive(Debug, PartialEq, Eq)]
struct Tickets {
    jobs: Vec<Option<StoredTicketJob>>,
    unfinished: Vec<TicketJobId>,
    proofs: Vec<StoredProof>,
    claims: Vec<Option<TicketJobId>>,
    free: Vec<Vec<StoredProof>>,
    counters: Vec<u32>,
    balances: Vec<TicketBalance>,
    set_aside: Vec<StoredProof>,
}

impl Tickets {
    async fn of(store: &dyn FullStore, about: &Subjects) -> Self {
        let mut jobs = Vec::new();
        for id in &about.ticket_jobs {
            jobs.push(store.ticket_job(*id).await.unwrap());
        }
        let mut claims = Vec::new();
        for id in &about.proofs {
            claims.push(store.proof_claim(*id).await.unwrap());
        }
        let (mut free, mut counters) = (Vec::new(), Vec::new());
        for (mint_url, unit, keyset) in &about.keysets {
            free.push(store.free_proofs(mint_url, unit, usize::MAX).await.unwrap());
            counters.push(store.ticket_counter(mint_url, keyset).await.unwrap());
        }
        Self {
            jobs,
            unfinished: store.unfinished_ticket_jobs(None, usize::MAX).await.unwrap(),
            proofs: store.proofs(&about.proofs).await.unwrap(),
            claims,
            free,
            counters,
            balances: store.ticket_balances().await.unwrap(),
            set_aside: store.set_aside_proofs(None, usize::MAX).await.unwrap(),
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Stream {
    id: StreamId,
    operation: Option<StoredOperation>,
    events: Vec<Event>,
    outbox: Vec<OutboxMessage>,
    next_delivery: Option<Delivery>,
}

/// The results of all queries; equal for equivalent stores.
#[derive(Debug, PartialEq, Eq)]
pub struct Snapshot {
    streams: Vec<Stream>,
    open: Vec<OpenOperation>,
    subscriptions: Vec<(StreamId, StoredOperation)>,
    with_keys: Vec<Option<(StreamId, StoredOperation)>>,
    relays: Vec<Vec<String>>,
    payment_records: Vec<BookedPayment>,
    login_records: Vec<EndedLogin>,
    sums: Vec<HourlySums>,
    deliveries: Vec<Vec<Delivery>>,
    pending: Vec<(StreamId, UnixMillis)>,
    counts: DeliveryCounts,
    idempotency_records: Vec<Option<IdempotencyRecord>>,
    settings: Vec<Option<String>>,
    tickets: Tickets,
}

impl Snapshot {
    /// Runs all queries.
    pub async fn of(store: &dyn FullStore, about: &Subjects) -> Self {
        let mut streams = Vec::new();
        for id in &about.streams {
            streams.push(Stream {
                id: *id,
                operation: store.operation(*id).await.unwrap(),
                events: store.events(*id, 0, usize::MAX).await.unwrap(),
                outbox: store.outbox(*id).await.unwrap(),
                next_delivery: store.next_delivery(*id).await.unwrap(),
            });
        }
        let mut with_keys = Vec::new();
        for key in &about.keys {
            with_keys.push(store.operation_with_key(*key).await.unwrap());
        }
        let mut relays = Vec::new();
        for user in &about.users {
            relays.push(store.user_relays(user).await.unwrap());
        }
        let mut deliveries = Vec::new();
        for status in DeliveryStatus::ALL {
            deliveries.push(store.deliveries(status, None, usize::MAX).await.unwrap());
        }
        let mut idempotency_records = Vec::new();
        for call in &about.calls {
            idempotency_records.push(store.idempotency_record(call).await.unwrap());
        }
        let mut settings = Vec::new();
        for name in &about.settings {
            settings.push(store.setting(name).await.unwrap());
        }
        Self {
            streams,
            open: store.open_operations(None, usize::MAX).await.unwrap(),
            subscriptions: store.subscriptions(Order::Oldest, None, usize::MAX).await.unwrap(),
            with_keys,
            relays,
            payment_records: store.payment_records(PaymentFilter::default(), None, usize::MAX).await.unwrap(),
            login_records: store.login_records(LoginFilter::default(), None, usize::MAX).await.unwrap().found,
            sums: store.hourly_sums(0, u64::MAX).await.unwrap(),
            deliveries,
            pending: store.pending_queues(None, usize::MAX).await.unwrap(),
            counts: store.count_deliveries().await.unwrap(),
            idempotency_records,
            settings,
            tickets: Tickets::of(store, about).await,
        }
    }
}
