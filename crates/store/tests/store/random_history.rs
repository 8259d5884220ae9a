//! Random histories: every engine returns the same results as SQLite does when one call is made after the other, in any order
//! of calls, with calls that share transactions, and across restarts.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use usher_engine::event::{EventType, NewEvent};
use usher_engine::ports::{
    Commit, Committed, CorrelationKey, CounterAdvance, DeliveryAttempt, DeliveryStatus, LoginRecordStatus,
    NewIdempotencyRecord, OperationKind, OutboxChange, PaymentKind, PaymentRecord, PaymentRecordStatus, ProofId,
    Revision, State, Store, StoreError, TicketCommit, TicketCommitted, UserRelays,
};
use usher_engine::{StreamId, UnixMillis};
use usher_protocol::message::PaymentHash;
use usher_store::conformance::{
    FullStore, Snapshot, Subject, Subjects, ended_login, id, idempotency_key, inbound, key, message, new_record, proof,
    proof_id, public_key, refused, ticket_job, ticket_step,
};

type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Few, so that they meet. The first is the reserved stream.
const STREAMS: u64 = 6;
const USERS: u64 = 3;
const CALLS: u64 = 4;
const SETTINGS: [&str; 2] = ["a", "b"];
const JOBS: u64 = 4;
const PROOFS: u64 = 8;
const MINTS: [&str; 2] = ["https://a", "https://b"];
const UNITS: [&str; 2] = ["sat", "multi"];

#[derive(Clone, Debug)]
enum Action {
    /// Commits that are under way at the same time, queued in this order.
    Commits(Vec<Draft>),
    /// Commits that belong together.
    Together(Vec<Draft>),
    /// Steps of the ticket wallet's jobs that are under way at the same time, queued in this order.
    Tickets(Vec<TicketDraft>),
    /// A change of something else.
    Change(Change),
    Reopen,
}

#[derive(Clone, Debug)]
enum Change {
    Attempt(DeliveryAttempt),
    Retry(StreamId, u64, UnixMillis, Option<NewIdempotencyRecord>),
    Keep(NewIdempotencyRecord),
    Set(&'static str, Option<String>),
    Remove(RemovedRows, UnixMillis, usize),
    RemoveEvents(StreamId, UnixMillis, usize),
    ReturnSetAside(Vec<ProofId>),
}

#[derive(Clone, Copy, Debug)]
enum RemovedRows {
    Finished,
    Inbound,
    PaymentRecords,
    UserRelays,
    Deliveries,
    Answers,
    KeptKeys,
    TicketJobs,
}

/// A step of a job whose revision and counter are not known yet.
#[derive(Clone, Debug)]
struct TicketDraft {
    /// By how much the expected revision, and the counter, are wrong.
    off: (u64, u32),
    number: u64,
    commit: TicketCommit,
}

impl Change {
    /// What came of it, as a number.
    async fn make(self, store: &dyn FullStore) -> usize {
        let result = match self {
            Self::Attempt(attempt) => store.record_attempt(attempt).await.map(usize::from),
            Self::Retry(stream, index, at, record) => {
                store.retry_delivery(stream, index, at, record).await.map(|retried| retried as usize)
            }
            Self::Keep(record) => store.add_idempotency_record(record).await.map(usize::from),
            Self::Set(name, value) => store.set_setting(name, value.as_deref()).await.map(|()| 0),
            Self::ReturnSetAside(ids) => store.return_set_aside(&ids).await,
            Self::RemoveEvents(stream, before, limit) => store.remove_events(stream, before, limit).await,
            Self::Remove(RemovedRows::Finished, before, limit) => store.remove_finished(before, limit).await,
            Self::Remove(RemovedRows::Inbound, before, limit) => store.forget_inbound(before, limit).await,
            Self::Remove(RemovedRows::PaymentRecords, before, limit) => {
                store.forget_payment_records(before, limit).await
            }
            Self::Remove(RemovedRows::UserRelays, before, limit) => store.forget_user_relays(before, limit).await,
            Self::Remove(RemovedRows::Deliveries, before, limit) => store.forget_deliveries(before, limit).await,
            Self::Remove(RemovedRows::Answers, before, limit) => store.remove_idempotency_records(before, limit).await,
            Self::Remove(RemovedRows::KeptKeys, before, limit) => store.forget_kept_keys(before, limit).await,
            Self::Remove(RemovedRows::TicketJobs, before, limit) => store.remove_ticket_jobs(before, limit).await,
        };
        result.unwrap()
    }
}

/// A commit whose expected revision is not known yet.
#[derive(Clone, Debug)]
struct Draft {
    stream: u64,
    expects: Expects,
    commit: Commit,
}

#[derive(Clone, Copy, Debug)]
enum Expects {
    /// What is stored when the group begins.
    Right,
    /// One revision more than that: right when another commit of the group comes before it.
    Next,
    /// That there is none.
    New,
    /// That it is open.
    Any,
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        12 => vec(draft(), 1..8).prop_map(Action::Commits),
        4 => vec(draft(), 0..4).prop_map(Action::Together),
        12 => vec(ticket_draft(), 1..5).prop_map(Action::Tickets),
        14 => change().prop_map(Action::Change),
        1 => Just(Action::Reopen),
    ]
}

fn change() -> impl Strategy<Value = Change> {
    let what = prop_oneof![
        Just(RemovedRows::Finished),
        Just(RemovedRows::Inbound),
        Just(RemovedRows::PaymentRecords),
        Just(RemovedRows::UserRelays),
        Just(RemovedRows::Deliveries),
        Just(RemovedRows::Answers),
        Just(RemovedRows::KeptKeys),
        Just(RemovedRows::TicketJobs),
    ];
    let position = || (0..STREAMS, 0..5_u64);
    prop_oneof![
        2 => vec(0..PROOFS, 1..3).prop_map(|ids| Change::ReturnSetAside(ids.into_iter().map(proof_id).collect())),
        8 => (position(), 0..40_u64, prop::sample::select(&DeliveryStatus::ALL[..])).prop_map(
            |((stream, index), at, status)| {
                Change::Attempt(DeliveryAttempt { status, ..refused(stream_id(stream), index, at) })
            }
        ),
        2 => (position(), 0..40_u64, option::weighted(0.5, record())).prop_map(|((stream, index), at, record)| {
            Change::Retry(stream_id(stream), index, UnixMillis(at), record)
        }),
        2 => record().prop_map(Change::Keep),
        1 => (prop::sample::select(&SETTINGS[..]), option::of(".{0,8}"))
            .prop_map(|(name, value)| Change::Set(name, value)),
        2 => (0..STREAMS, 0..40_u64, 0..4_usize).prop_map(|(stream, before, limit)| {
            Change::RemoveEvents(stream_id(stream), UnixMillis(before), limit)
        }),
        5 => (what, 0..40_u64, 0..4_usize)
            .prop_map(|(what, before, limit)| Change::Remove(what, UnixMillis(before), limit)),
    ]
}

fn record() -> impl Strategy<Value = NewIdempotencyRecord> {
    (0..CALLS, 0..40_u64, 0..40_u64).prop_map(|(call, at, replace_before)| new_record(call, at, replace_before))
}

fn draft() -> impl Strategy<Value = Draft> {
    let identity = (
        0..STREAMS,
        prop_oneof![6 => Just(Expects::Right), 2 => Just(Expects::Next), 1 => Just(Expects::New), 1 => Just(Expects::Any)],
        prop_oneof![Just(OperationKind::KeyHandshake), Just(OperationKind::Subscription)],
    );
    let content = (0..40_u64, ".{0,8}", prop::bool::weighted(0.25), option::of(0..40_u64), vec(0..8_u64, 0..3));
    let effects = (
        vec((0..EventType::ALL.len(), 0..5_000_u64, ".{0,8}"), 0..4),
        option::weighted(0.4, (0..5_u8, vec(0..9_u64, 0..3))),
        option::weighted(0.3, 0..8_u64),
        option::weighted(0.2, (0..USERS, vec("[a-c]{1,3}", 0..3))),
        any::<bool>(),
        option::weighted(0.2, record()),
        (any::<bool>(), option::of(0..3_u8), vec((0..8_u64, 0..40_u64), 0..3)),
    );
    (identity, content, effects).prop_map(|(identity, content, effects)| {
        let (stream, expects, kind) = identity;
        let (at, state, finished, wake_at, claims) = content;
        let (events, outbox, seen, relays, deliver, record, (done, watched, kept)) = effects;
        let new_event = |(event_type, at, data): (usize, u64, String)| NewEvent {
            event_type: EventType::ALL[event_type],
            at: UnixMillis(at),
            data: serde_json::json!({ "text": data }).to_string().into(),
            outcome: usher_engine::OperationOutcome::Completed,
        };
        // Some of the stream's own queue, some of three others.
        let queue = |at: u64| match at % 4 {
            0 => stream_id(stream),
            n => StreamId::subscription_queue(&format!("{stream}, {n}")),
        };
        let delivery_queues = events.iter().skip(usize::from(finished)).map(|(_, at, _)| queue(*at)).collect();
        let commit = Commit {
            operation: stream_id(stream),
            kind,
            origin: None,
            expected: Revision::New,
            at: UnixMillis(at),
            state: State(state),
            finished,
            kept: kept.into_iter().map(|(key, until)| (claim(key), UnixMillis(until))).collect(),
            done,
            watched: watched.map(|byte| PaymentHash::from_bytes([byte; 32])),
            wake_at: wake_at.map(UnixMillis),
            claims: claims.into_iter().map(claim).collect(),
            events: events.into_iter().map(new_event).collect(),
            outbox: outbox.map_or(OutboxChange::Keep, |(how, messages)| match how {
                0 => OutboxChange::Pause(UnixMillis(at)),
                1 | 2 => OutboxChange::Add(messages.into_iter().map(message).collect()),
                _ => OutboxChange::Replace(messages.into_iter().map(message).collect()),
            }),
            inbound: seen.map(inbound).into_iter().collect(),
            user_relays: relays
                .map(|(user, relays)| UserRelays { main_key: public_key(user), relays })
                .into_iter()
                .collect(),
            user_signers: Vec::new(),
            passkeys: Vec::new(),
            payment_record: watched.map(payment),
            login_record: finished.then(|| ended_login(at % 3, LoginRecordStatus::Approved)),
            deliver,
            delivery_queues,
            idempotency_record: record,
            audit: None,
        };
        Draft { stream, expects, commit }
    })
}

/// One of several that the same operation may have one after the other.
fn payment(byte: u8) -> PaymentRecord {
    PaymentRecord {
        kind: PaymentKind::Charge,
        status: PaymentRecordStatus::ALL[usize::from(byte) % PaymentRecordStatus::ALL.len()],
        amount: 5,
        settled: (byte == 1).then_some(5),
        fee: None,
        description: String::new(),
        reference: None,
        payment_hash: (byte > 0).then(|| PaymentHash::from_bytes([byte; 32])),
        price: None,
        refund_of: None,
    }
}

fn ticket_draft() -> impl Strategy<Value = TicketDraft> {
    let off = (prop_oneof![5 => Just(0), 2 => Just(1), 1 => Just(2)], prop_oneof![5 => Just(0), 1 => 1..3_u32]);
    let job = (0..JOBS, 0..40_u64, ".{0,8}", prop::bool::weighted(0.3));
    let keyset = (prop::sample::select(&MINTS[..]), 0..4_u32);
    let proofs = || prop_oneof![2 => Just(Vec::new()), 1 => vec(0..PROOFS, 1..3)];
    let amount = prop_oneof![8 => 0..20_u64, 2 => Just(i64::MAX.unsigned_abs()), 1 => Just(u64::MAX)];
    let add = prop_oneof![2 => Just(Vec::new()), 2 => vec((0..PROOFS, amount), 1..3)];
    let unit = prop::sample::select(&UNITS[..]);
    let set_aside = prop_oneof![4 => Just(Vec::new()), 1 => vec(0..PROOFS, 1..3)];
    let flags = (prop::bool::weighted(0.1), prop::bool::weighted(0.15), prop::bool::weighted(0.15), set_aside);
    let changes = (option::of(keyset.clone()), proofs(), proofs(), (add, keyset, unit), flags);
    (off, job, changes).prop_map(|(off, (number, at, state, finished), changes)| {
        let (counter, claims, reserve, (add, (mint_url, _), unit), flags) = changes;
        let counter = counter.map(|(mint_url, by)| CounterAdvance {
            mint_url: mint_url.to_owned(),
            keyset: "00".to_owned(),
            from: 0,
            to: by,
        });
        let commit = TicketCommit {
            at: UnixMillis(at),
            state: State(state),
            finished,
            counter,
            claims: claims.into_iter().map(proof_id).collect(),
            release_claims: flags.0,
            add: add.into_iter().map(|(number, amount)| proof(number, mint_url, unit, amount)).collect(),
            reserve: reserve.into_iter().map(proof_id).collect(),
            set_aside: flags.3.into_iter().map(proof_id).collect(),
            release_reserved: flags.1,
            remove_reserved: flags.2,
            ..ticket_step(number, 0)
        };
        TicketDraft { off, number, commit }
    })
}

impl TicketDraft {
    async fn resolve(&self, model: &dyn FullStore) -> TicketCommit {
        let mut commit = self.commit.clone();
        let revision = model.ticket_job(ticket_job(self.number)).await.unwrap().map_or(0, |job| job.revision);
        commit.expected = revision + self.off.0;
        if let Some(advance) = &mut commit.counter {
            advance.from = model.ticket_counter(&advance.mint_url, &advance.keyset).await.unwrap() + self.off.1;
            advance.to += advance.from;
        }
        commit
    }
}

fn stream_id(stream: u64) -> StreamId {
    if stream == 0 { StreamId::SUBSCRIPTIONS } else { id(stream) }
}

fn claim(number: u64) -> CorrelationKey {
    key(&number.to_string())
}

impl Draft {
    async fn resolve(&self, model: &dyn FullStore) -> Commit {
        let revision = model.operation(stream_id(self.stream)).await.unwrap().map_or(0, |stored| stored.revision);
        let expected = match self.expects {
            Expects::Right if revision == 0 => Revision::New,
            Expects::Right => Revision::At(revision),
            Expects::Next => Revision::At(revision + 1),
            Expects::New => Revision::New,
            Expects::Any => Revision::Any,
        };
        Commit { expected, ..self.commit.clone() }
    }
}

/// Queues the commits in their order, all before the first is awaited: they share transactions.
async fn commit_together(store: &dyn Store, commits: Vec<Commit>) -> Vec<Result<Committed, StoreError>> {
    together(commits.into_iter().map(|commit| store.commit(commit)).collect()).await
}

async fn tickets_together(
    store: &dyn FullStore,
    commits: Vec<TicketCommit>,
) -> Vec<Result<TicketCommitted, StoreError>> {
    together(commits.into_iter().map(|commit| store.commit_tickets(commit)).collect()).await
}

async fn together<T>(futures: Vec<BoxFuture<'_, T>>) -> Vec<T> {
    let mut waiting: Vec<_> = futures.into_iter().map(|future| (future, None)).collect();
    poll_fn(|context| {
        for (future, result) in &mut waiting {
            if let Poll::Ready(ready) = future.as_mut().poll(context) {
                *result = Some(ready);
            }
        }
        Poll::Ready(())
    })
    .await;
    let mut results = Vec::new();
    for (future, result) in waiting {
        results.push(match result {
            Some(result) => result,
            None => future.await,
        });
    }
    results
}

async fn observe(store: &dyn FullStore) -> Snapshot {
    let about = Subjects {
        streams: (0..STREAMS).map(stream_id).collect(),
        keys: (0..8).map(claim).collect(),
        users: (0..USERS).map(public_key).collect(),
        calls: (0..CALLS).map(idempotency_key).collect(),
        settings: SETTINGS.map(str::to_owned).to_vec(),
        ticket_jobs: (0..JOBS).map(ticket_job).collect(),
        proofs: (0..PROOFS).map(proof_id).collect(),
        keysets: MINTS
            .iter()
            .flat_map(|mint| UNITS.map(|unit| ((*mint).to_owned(), unit.to_owned(), "00".to_owned())))
            .collect(),
    };
    Snapshot::of(store, &about).await
}

async fn replay(mut subject: impl Subject, history: Vec<Action>) -> Result<(), TestCaseError> {
    // One call after the other, and never reopened.
    let one_by_one = crate::subjects::sqlite().await;
    let (model, mut store) = (one_by_one.store(), subject.store());
    for action in history {
        match action {
            Action::Commits(drafts) => {
                let mut commits = Vec::new();
                for draft in &drafts {
                    commits.push(draft.resolve(&*model).await);
                }
                let results = commit_together(&*store, commits.clone()).await;
                for (commit, result) in commits.into_iter().zip(results) {
                    // Which error is the engine's own business.
                    prop_assert_eq!(result.ok(), model.commit(commit).await.ok());
                }
            }
            Action::Together(drafts) => {
                let mut commits = Vec::new();
                for draft in &drafts {
                    commits.push(draft.resolve(&*model).await);
                }
                let result = store.commit_all(commits.clone()).await;
                prop_assert_eq!(result.ok(), model.commit_all(commits).await.ok());
            }
            Action::Tickets(drafts) => {
                let mut commits = Vec::new();
                for draft in &drafts {
                    commits.push(draft.resolve(&*model).await);
                }
                let results = tickets_together(&*store, commits.clone()).await;
                for (commit, result) in commits.into_iter().zip(results) {
                    prop_assert_eq!(result.unwrap(), model.commit_tickets(commit).await.unwrap());
                }
            }
            Action::Change(change) => {
                prop_assert_eq!(change.clone().make(&*store).await, change.make(&*model).await);
            }
            Action::Reopen => {
                subject.reopen().await;
                store = subject.store();
            }
        }
        prop_assert_eq!(observe(&*store).await, observe(&*model).await);
    }
    Ok(())
}

fn run<S: Subject>(make: impl Future<Output = S>, history: Vec<Action>) -> Result<(), TestCaseError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { replay(make.await, history).await })
}

/// How many histories, of up to 24 actions each.
fn histories(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(histories(32))]

    #[test]
    fn sqlite_results_match_the_model(history in vec(action(), 1..24)) {
        run(crate::subjects::sqlite(), history)?;
    }
}

proptest! {
    // Each makes a database.
    #![proptest_config(histories(12))]

    #[test]
    fn postgres_results_match_the_model(history in vec(action(), 1..24)) {
        run(crate::subjects::postgres(), history)?;
    }
}
