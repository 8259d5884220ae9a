use tokio::sync::mpsc::UnboundedReceiver;

use super::*;
use crate::kernel::fixtures::{Around, NOW, key, stream, within};
use crate::ports::{Commit, Lightning, OutboxChange, Revision, Store as _, UserRelays};
use crate::testing::{Always, RecordingMessenger, commit};

const SECOND: Duration = Duration::from_secs(1);

type Sent = UnboundedReceiver<(OutgoingMessage, Vec<EventId>)>;

fn outbox(around: &Around) -> (Arc<Outbox>, Sent) {
    let (outbox, jobs, sent) = outbox_at_rest(around);
    around.tasks.spawn(Arc::clone(&outbox).run(jobs));
    (outbox, sent)
}

/// One whose task does not run yet.
fn outbox_at_rest(around: &Around) -> (Arc<Outbox>, mpsc::Receiver<SendJob>, Sent) {
    let (messenger, sent) = RecordingMessenger::new(&["wss://ours"]);
    let core = Core { randomness: Arc::new(Always(127)), ..around.core() };
    let backend = around.lightning() as Arc<dyn Lightning>;
    let watcher = InvoiceWatcher::new(core.clone(), Some(backend), Arc::default(), 10);
    let (outbox, jobs) = Outbox::new(core, Arc::new(messenger), Arc::new(watcher));
    (Arc::new(outbox), jobs, sent)
}

fn message() -> OutboxMessage {
    OutboxMessage {
        kind: 27_000,
        content: "{}".to_owned(),
        main_key: key(1),
        recipients: vec![key(1)],
        participants: vec![key(1)],
        until: NOW.plus(60 * SECOND),
        made_at: NOW,
        not_before: UnixMillis(0),
    }
}

/// An operation whose message is to be sent again after a second.
async fn open(around: &Around, n: u8) {
    around.open(stream(n));
    let at = around.timers.after(SECOND);
    around.index.update(stream(n), |open| (open.resend_at, open.attempts) = (Some(at), 1));
    around.timers.set(at, stream(n), TimerKind::Resend);
    let outbox = OutboxChange::Replace(vec![message()]);
    around.store.commit(Commit { outbox, ..commit(stream(n), Revision::New, NOW) }).await.unwrap();
}

async fn set_relay(around: &Around, relay: &str) {
    let user_relays = vec![UserRelays { main_key: key(1), relays: vec![relay.to_owned()] }];
    around.store.commit(Commit { user_relays, ..commit(stream(100), Revision::New, NOW) }).await.unwrap();
}

async fn next(sent: &mut Sent) -> (OutgoingMessage, Vec<EventId>) {
    within("a message", || sent.try_recv().ok()).await
}

#[tokio::test]
async fn message_is_resent_to_the_users_relays_until_it_expires() {
    let around = Around::new();
    set_relay(&around, "wss://theirs").await;
    let (outbox, mut sent) = outbox(&around);
    open(&around, 1).await;
    outbox.send(stream(1), vec![message()]);
    let (first, events) = next(&mut sent).await;
    assert_eq!(first.relays, ["wss://theirs"]);
    assert_eq!(outbox.sender_of(&events[0]), Some(stream(1)));
    let mut sendings = 1;
    while around.index.get(stream(1)).unwrap().resend_at.is_some() {
        for (id, kind) in around.timers_after(SECOND).await {
            assert_eq!((id, kind), (stream(1), TimerKind::Resend));
            let attempts = around.index.get(id).unwrap().attempts;
            outbox.resend(id).await;
            within("it is repeated", || (around.index.get(id).unwrap().attempts > attempts).then_some(())).await;
            // Either it is sent, or it has expired and has no timer any more.
            let expired = || around.index.get(id).unwrap().resend_at.is_none();
            if let Some(repeated) = within("an outcome", || match sent.try_recv() {
                Ok(repeated) => Some(Some(repeated)),
                Err(_) if expired() => Some(None),
                Err(_) => None,
            })
            .await
            {
                sendings += 1;
                assert_eq!(repeated, (first.clone(), events.clone()), "the same event");
            }
        }
    }
    assert_eq!(sendings, 3, "at once, and after 1 and 37 seconds");
    assert_eq!(around.store.calls(&["user_relays"]), 1, "relays are read once");
}

#[tokio::test]
async fn committed_relays_are_known_without_reading() {
    let around = Around::new();
    let (outbox, mut sent) = outbox(&around);
    open(&around, 1).await;
    let named = |relay: &str| [UserRelays { main_key: key(1), relays: vec![relay.to_owned()] }].into_iter();
    outbox.begin_changes(named("wss://theirs")).done();
    outbox.send(stream(1), vec![message()]);
    assert_eq!(next(&mut sent).await.0.relays, ["wss://theirs"]);
    outbox.begin_changes([UserRelays { main_key: key(1), relays: Vec::new() }].into_iter()).done();
    outbox.send(stream(1), vec![message()]);
    assert_eq!(next(&mut sent).await.0.relays, ["wss://theirs"], "a wallet that names none changes none");
    assert_eq!(around.store.calls(&["user_relays"]), 0);
}

/// The store may have had their commits in the other order; or one failed, and perhaps only its answer was lost.
#[tokio::test]
async fn relays_changed_by_two_commits_at_once_or_a_failed_one_are_read_again() {
    let around = Around::new();
    let (outbox, mut sent) = outbox(&around);
    open(&around, 1).await;
    set_relay(&around, "wss://theirs").await;
    let mut reads = 0;
    let named = |relay: &str| [UserRelays { main_key: key(1), relays: vec![relay.to_owned()] }].into_iter();
    let (first, second) = (outbox.begin_changes(named("wss://a")), outbox.begin_changes(named("wss://b")));
    second.done();
    first.done();
    let (first, second) = (outbox.begin_changes(named("wss://a")), outbox.begin_changes(named("wss://b")));
    first.done();
    // Read while the other one is under way: not kept.
    outbox.send(stream(1), vec![message()]);
    assert_eq!(next(&mut sent).await.0.relays, ["wss://theirs"]);
    second.done();
    for change in ["none", "failed"] {
        if change == "failed" {
            drop(outbox.begin_changes(named("wss://c")));
        }
        outbox.send(stream(1), vec![message()]);
        assert_eq!(next(&mut sent).await.0.relays, ["wss://theirs"], "{change}");
        reads += 1;
        assert_eq!(around.store.calls(&["user_relays"]), reads + 1, "{change}");
    }
    let changing = outbox.begin_changes(named("wss://d"));
    for _ in 0..2 {
        outbox.send(stream(1), vec![message()]);
        assert_eq!(next(&mut sent).await.0.relays, ["wss://theirs"]);
    }
    assert_eq!(around.store.calls(&["user_relays"]), reads + 3, "what is read during a change is not kept");
    changing.done();
    outbox.send(stream(1), vec![message()]);
    assert_eq!(next(&mut sent).await.0.relays, ["wss://d"]);
}

#[tokio::test]
async fn messages_of_finished_operations_are_not_sent() {
    let around = Around::new();
    let (outbox, mut sent) = outbox(&around);
    open(&around, 1).await;
    around.index.update(stream(1), |open| open.resend_at = None);
    outbox.send(stream(1), vec![message()]);
    within("the queue is empty", || (outbox.queue.capacity() == QUEUE).then_some(())).await;
    around.index.update(stream(1), |open| open.resend_at = Some(around.timers.now()));
    outbox.resend(stream(1)).await;
    assert_eq!(outbox.sender_of(&next(&mut sent).await.1[0]), Some(stream(1)));
    assert!(sent.try_recv().is_err());
}

/// It was never sent: that the wallet was heard meanwhile is no reason to wait.
#[tokio::test]
async fn message_for_which_the_queue_has_no_room_is_sent_soon() {
    let around = Around::new();
    let (outbox, jobs, mut sent) = outbox_at_rest(&around);
    open(&around, 1).await;
    (0..QUEUE).for_each(|_| outbox.send(stream(2), Vec::new()));
    outbox.send(stream(1), vec![message()]);
    let soon = around.index.get(stream(1)).unwrap();
    assert_eq!((soon.resend_at, soon.attempts), (Some(around.timers.after(SOON)), 0));
    around.tasks.spawn(Arc::clone(&outbox).run(jobs));
    for id in around.timers_after(SOON).await.into_iter().map(|(id, _)| id) {
        outbox.record_activity(key(1));
        outbox.resend(id).await;
    }
    assert_eq!(outbox.sender_of(&next(&mut sent).await.1[0]), Some(stream(1)));
}
