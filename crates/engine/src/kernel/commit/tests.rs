use std::sync::atomic::Ordering;
use std::time::Duration;

use super::*;
use crate::event::{EventType, NewEvent};
use crate::kernel::age_check_queue::AgeCheckQueue;
use crate::kernel::event_feed::EventFeed;
use crate::kernel::fixtures::{Around, MemoryDeliveries, MemoryStore, NOW, stream};
use crate::kernel::ids::Ids;
use crate::kernel::invoice_watcher::{InvoiceWatcher, InvoiceWatcherParts};
use crate::kernel::lightning_queue::LightningQueue;
use crate::kernel::outbox::OutboxParts;
use crate::kernel::signer_queue::SignerQueue;
use crate::kernel::ticket_queue::TicketQueue;
use crate::kernel::timers::Alarm;
use crate::kernel::webhook_dispatcher::WebhookDispatcherParts;
use crate::operations::{FollowUp, KeyHandshake};
use crate::ports::{Clock, Head, Randomness};
use crate::testing::{RecordingMessenger, SeededRandomness};

/// A committer on a store in memory, with all the parts that act on commits.
pub(crate) fn committer(
    around: &Around,
    store: &Arc<MemoryStore>,
) -> (Arc<Committer>, Arc<LightningQueue>, Arc<TicketQueue>) {
    let clock = Arc::clone(&around.clock) as Arc<dyn Clock>;
    let randomness = Arc::new(SeededRandomness::new(1)) as Arc<dyn Randomness>;
    let memory = Arc::clone(store) as Arc<dyn Store>;
    let damage = Arc::new(Damage::new(Arc::clone(&memory)));
    let metrics = Arc::<Metrics>::default();
    let watcher = Arc::new(InvoiceWatcher::new(InvoiceWatcherParts {
        backend: None,
        lookups_per_second: 10,
        metrics: Arc::default(),
        index: Arc::clone(&around.index),
        timers: Arc::clone(&around.timers),
        inputs: around.inputs.clone(),
        clock: Arc::clone(&clock),
        tasks: around.tasks.clone(),
    }));
    let (lightning, _) = LightningQueue::new(
        None,
        Arc::default(),
        Arc::clone(&around.index),
        around.inputs.clone(),
        Arc::clone(&clock),
        around.tasks.clone(),
    );
    let lightning = Arc::new(lightning);
    let tickets =
        TicketQueue::new(None, Arc::default(), Arc::clone(&around.index), around.inputs.clone(), around.tasks.clone());
    let (outbox, _) = Outbox::new(OutboxParts {
        store: Arc::clone(&memory),
        damage: Arc::clone(&damage),
        messenger: Arc::new(RecordingMessenger::new(&[]).0),
        index: Arc::clone(&around.index),
        timers: Arc::clone(&around.timers),
        watcher: Arc::clone(&watcher),
        metrics: Arc::clone(&metrics),
        clock: Arc::clone(&clock),
        randomness: Arc::clone(&randomness),
        tasks: around.tasks.clone(),
    });
    let (webhooks, _) = WebhookDispatcher::new(WebhookDispatcherParts {
        store: Arc::new(MemoryDeliveries::default()),
        sender: None,
        damage: Arc::clone(&damage),
        timers: Arc::clone(&around.timers),
        metrics: Arc::clone(&metrics),
        clock: Arc::clone(&clock),
        randomness: Arc::clone(&randomness),
        tasks: around.tasks.clone(),
    });
    let feed = EventFeed::new(
        Arc::clone(&memory),
        Arc::clone(&damage),
        Arc::clone(&around.index),
        Arc::clone(&clock),
        around.tasks.clone(),
    );
    let after_commit = AfterCommit {
        index: Arc::clone(&around.index),
        timers: Arc::clone(&around.timers),
        metrics: Arc::clone(&metrics),
        feed: Arc::new(feed),
        outbox: Arc::new(outbox),
        watcher,
        lightning: Arc::clone(&lightning),
        tickets: Arc::clone(&tickets),
        age_checks: Arc::new(AgeCheckQueue::new(None, around.inputs.clone(), around.tasks.clone())),
        signers: Arc::new(SignerQueue::new(
            None,
            around.inputs.clone(),
            Arc::clone(&around.clock) as Arc<dyn Clock>,
            around.tasks.clone(),
        )),
        webhooks: Arc::new(webhooks),
        observers: Vec::new(),
    };
    let ids = Ids::new(clock, randomness);
    (Arc::new(Committer::new(memory, damage, ids, Arc::new(NoFollowUps), metrics, after_commit)), lightning, tickets)
}

struct NoFollowUps;

impl FollowUps for NoFollowUps {
    fn start(&self, _: &FollowUp, _: UnixMillis) -> Option<(Operation, Vec<Effect>)> {
        None
    }

    fn closes(&self, _: &FollowUp) -> Vec<StreamId> {
        Vec::new()
    }
}

const MINUTE: Duration = Duration::from_secs(60);

fn handshake(token: &str) -> Operation {
    Operation::KeyHandshake(KeyHandshake::single_use(token.to_owned(), false, NOW.plus(MINUTE)))
}

fn event() -> NewEvent {
    NewEvent {
        event_type: EventType::KeyHandshake,
        at: NOW,
        data: "{}".into(),
        outcome: crate::OperationOutcome::Completed,
    }
}

async fn start(committer: &Committer, n: u8, token: &str) -> Result<Option<Conflict>, StoreError> {
    committer.commit(Change::start(stream(n), handshake(token), Vec::new()), NOW, Cause::Request(None)).await
}

#[tokio::test]
async fn new_operation_is_indexed_with_its_timer() {
    let (around, store) = (Around::new(), Arc::new(MemoryStore::default()));
    let (committer, ..) = committer(&around, &store);
    assert!(start(&committer, 1, "token").await.unwrap().is_none());
    assert_eq!(around.index.find(CorrelationKey::token("token")), Some(stream(1)));
    assert_eq!(around.index.get(stream(1)).unwrap().revision, 1);
    assert_eq!(around.alarms_after(MINUTE).await, [(stream(1), Alarm::Wake)]);
    around.stop().await;
}

#[tokio::test]
async fn failed_commit_leaves_nothing_in_the_index() {
    let (around, store) = (Around::new(), Arc::new(MemoryStore::default()));
    let (committer, ..) = committer(&around, &store);
    start(&committer, 1, "token").await.unwrap();
    assert_eq!(start(&committer, 2, "token").await.unwrap(), Some(Conflict::Correlation(stream(1))));
    store.failures.store(1, Ordering::SeqCst);
    assert!(start(&committer, 3, "other").await.is_err());
    assert_eq!(around.index.all(), 1);
    assert!(around.index.get(stream(1)).is_some());
    assert_eq!(around.index.find(CorrelationKey::token("other")), None);
    around.stop().await;
}

#[tokio::test]
async fn finished_operation_leaves_the_index_but_stays_readable() {
    let (around, store) = (Around::new(), Arc::new(MemoryStore::default()));
    let (committer, ..) = committer(&around, &store);
    start(&committer, 1, "token").await.unwrap();
    let effects = vec![Effect::Emit(event()), Effect::Finish];
    let change = Change::step(stream(1), 1, handshake("token"), effects);
    assert!(committer.commit(change, NOW, Cause::Inputs(Vec::new())).await.unwrap().is_none());
    assert!(around.index.get(stream(1)).is_none());
    assert_eq!(around.alarms_after(MINUTE).await, [], "its timer is cancelled");
    let page = committer.after_commit.feed.events(stream(1), 0, 10).await.unwrap();
    assert_eq!((page.events.len(), page.next, page.done), (1, 1, true));
    around.stop().await;
}

#[tokio::test]
async fn index_keeps_the_later_of_two_commits() {
    let (around, store) = (Around::new(), Arc::new(MemoryStore::default()));
    let (committer, ..) = committer(&around, &store);
    around.open(stream(1));
    let step = |expires_at| {
        let handshake = KeyHandshake::single_use("token".to_owned(), false, expires_at);
        Step::of(Change::step(stream(1), 1, Operation::KeyHandshake(handshake), Vec::new()), NOW).0
    };
    let apply = |step, revision| {
        committer.after_commit.apply_effects(vec![step], &[Head { revision, next_index: revision }], NOW);
    };
    apply(step(NOW.plus(2 * MINUTE)), 3);
    apply(step(NOW.plus(MINUTE)), 2);
    let open = around.index.get(stream(1)).unwrap();
    assert_eq!((open.revision, open.next_index, open.wake_at), (3, 3, Some(NOW.plus(2 * MINUTE))));
    assert_eq!(around.alarms_after(MINUTE).await, []);
    assert_eq!(around.alarms_after(MINUTE).await, [(stream(1), Alarm::Wake)]);
    around.stop().await;
}

#[test]
fn later_messages_replace_earlier_ones() {
    let mut effects = vec![Effect::Emit(event()), Effect::Pause(NOW)];
    append(&mut effects, vec![Effect::Emit(event())]);
    assert_eq!(effects.len(), 3);
    append(&mut effects, vec![Effect::ClearOutbox]);
    assert_eq!(effects, [Effect::Emit(event()), Effect::Emit(event()), Effect::ClearOutbox]);
}
