use std::time::Duration;

use super::*;
use crate::Origin;
use crate::event::{EventType, NewEvent};
use crate::kernel::age_check_queue::AgeCheckQueue;
use crate::kernel::event_feed::{EventFeed, ShownStream};
use crate::kernel::fixtures::{Around, NOW, stream};
use crate::kernel::invoice_watcher::InvoiceWatcher;
use crate::kernel::lightning_queue::LightningQueue;
use crate::kernel::outbox::Outbox;
use crate::kernel::remote_signer_queue::SignerQueue;
use crate::kernel::ticket_queue::TicketQueue;
use crate::kernel::timers::TimerKind;
use crate::kernel::webhook_dispatcher::WebhookDispatcher;
use crate::login::key_handshake::KeyHandshake;
use crate::machine::{Effect, LinkedChange};
use crate::ports::{CorrelationKey, OperationHead, Store as _, Version};
use crate::registry::Operation;
use crate::testing::{COMMITS, RecordingMessenger};

/// A committer on a store in memory, with all the parts that act on commits.
pub(crate) fn committer(around: &Around) -> (Arc<Committer>, Arc<LightningQueue>, Arc<TicketQueue>) {
    let core = around.core();
    let watcher = Arc::new(InvoiceWatcher::new(core.clone(), None, Arc::default(), 10));
    let lightning = Arc::new(LightningQueue::new(core.clone(), None, None, Arc::default()).0);
    let tickets = TicketQueue::new(core.clone(), None, Arc::default());
    let messenger = Arc::new(RecordingMessenger::new(&[]).0);
    let dispatcher = EffectDispatcher {
        core: core.clone(),
        feed: Arc::new(EventFeed::new(core.clone())),
        outbox: Arc::new(Outbox::new(core.clone(), messenger, watcher.clone()).0),
        watcher,
        lightning: lightning.clone(),
        tickets: tickets.clone(),
        age_checks: Arc::new(AgeCheckQueue::new(core.clone(), None)),
        signers: Arc::new(SignerQueue::new(core.clone(), None)),
        webhooks: Arc::new(WebhookDispatcher::new(core.clone(), around.store.clone(), None).0),
        observers: Vec::new(),
    };
    (Arc::new(Committer::new(core, Arc::new(NoLinkedChanges), dispatcher)), lightning, tickets)
}

struct NoLinkedChanges;

impl LinkedChanges for NoLinkedChanges {
    fn start(&self, _: &LinkedChange, _: UnixMillis) -> Option<(Operation, Vec<Effect>)> {
        None
    }

    fn closes(&self, _: &LinkedChange) -> Vec<StreamId> {
        Vec::new()
    }
}

const FIRST: Version = Version { revision: 1, origin: None };

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

/// Its token is not random.
fn reusable(token: &str) -> Operation {
    Operation::KeyHandshake(KeyHandshake::reusable(token.to_owned(), false))
}

async fn start(committer: &Committer, n: u8, token: &str) -> Result<Option<Conflict>, StoreError> {
    committer.commit(Change::start(stream(n), None, handshake(token), Vec::new()), NOW, Cause::Request(None)).await
}

#[tokio::test]
async fn new_operation_is_indexed_with_its_timer() {
    let around = Around::new();
    let (committer, ..) = committer(&around);
    assert!(start(&committer, 1, "token").await.unwrap().is_none());
    assert_eq!(around.index.find(CorrelationKey::token("token")), Some(stream(1)));
    assert_eq!(around.index.get(stream(1)).unwrap().revision, 1);
    assert_eq!(around.timers_after(MINUTE).await, [(stream(1), TimerKind::Wake)]);
}

#[tokio::test]
async fn operation_is_of_the_request_or_operation_that_started_it() {
    let around = Around::new();
    let (committer, ..) = committer(&around);
    let begin = |token| Effect::Start(reusable(token).to_state().unwrap(), Vec::new());
    let change = Change::start(stream(1), Some(Origin(7)), reusable("first"), vec![begin("second")]);
    assert_eq!(committer.commit(change, NOW, Cause::Request(None)).await.unwrap(), None);
    let stored = async |token| {
        let key = CorrelationKey::token(token);
        around.store.operation_with_key(key).await.unwrap().unwrap()
    };
    assert_eq!(stored("first").await.1.origin, Some(Origin(7)));
    assert_eq!(stored("second").await.1.origin, Some(Origin(7)));
    // Another's request, a timer or a wallet steps it, and it starts another.
    let (id, second) = stored("second").await;
    let step = Change::step(id, second.version(), reusable("second"), vec![begin("third")]);
    assert_eq!(committer.commit(step, NOW, Cause::Request(None)).await.unwrap(), None);
    assert_eq!(stored("third").await.1.origin, Some(Origin(7)));
}

#[tokio::test]
async fn failed_commit_leaves_nothing_in_the_index() {
    let around = Around::new();
    let (committer, ..) = committer(&around);
    let start = |n, token| {
        committer.commit(Change::start(stream(n), None, reusable(token), Vec::new()), NOW, Cause::Request(None))
    };
    start(1, "token").await.unwrap();
    assert_eq!(start(2, "token").await.unwrap(), Some(Conflict::Correlation(stream(1))));
    around.store.fail(COMMITS, 1);
    assert!(start(3, "other").await.is_err());
    assert_eq!(around.index.all(), 1);
    assert!(around.index.get(stream(1)).is_some());
    assert_eq!(around.index.find(CorrelationKey::token("other")), None);
}

#[tokio::test]
async fn finished_operation_leaves_the_index_but_stays_readable() {
    let around = Around::new();
    let (committer, ..) = committer(&around);
    start(&committer, 1, "token").await.unwrap();
    let effects = vec![Effect::Emit(event()), Effect::Finish];
    let change = Change::step(stream(1), FIRST, handshake("token"), effects);
    assert!(committer.commit(change, NOW, Cause::Inputs(Vec::new())).await.unwrap().is_none());
    assert!(around.index.get(stream(1)).is_none());
    assert_eq!(around.timers_after(MINUTE).await, [], "its timer is cancelled");
    let page = committer.dispatcher.feed.read(ShownStream::to_service(stream(1)), 0, 10).await.unwrap();
    assert_eq!((page.events.len(), page.next, page.done), (1, 1, true));
}

#[tokio::test]
async fn index_keeps_the_later_of_two_commits() {
    let around = Around::new();
    let (committer, ..) = committer(&around);
    around.open(stream(1));
    let step = |expires_at| {
        let handshake = KeyHandshake::single_use("token".to_owned(), false, expires_at);
        Step::of(
            Change::step(stream(1), FIRST, Operation::KeyHandshake(handshake), Vec::new()),
            NOW,
            around.timers.now(),
        )
        .0
    };
    let apply = |step, revision| {
        committer.dispatcher.dispatch(vec![step], &[OperationHead { revision, next_index: revision }], NOW);
    };
    apply(step(NOW.plus(2 * MINUTE)), 3);
    apply(step(NOW.plus(MINUTE)), 2);
    let open = around.index.get(stream(1)).unwrap();
    assert_eq!((open.revision, open.next_index, open.wake.map(|wake| wake.at)), (3, 3, Some(NOW.plus(2 * MINUTE))));
    assert_eq!(around.timers_after(MINUTE).await, []);
    assert_eq!(around.timers_after(MINUTE).await, [(stream(1), TimerKind::Wake)]);
}

#[test]
fn later_messages_replace_earlier_ones() {
    let mut effects = vec![Effect::Emit(event()), Effect::Pause(NOW)];
    append(&mut effects, vec![Effect::Emit(event())]);
    assert_eq!(effects.len(), 3);
    append(&mut effects, vec![Effect::ClearOutbox]);
    assert_eq!(effects, [Effect::Emit(event()), Effect::Emit(event()), Effect::ClearOutbox]);
}
