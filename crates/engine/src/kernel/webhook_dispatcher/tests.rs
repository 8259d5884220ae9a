use super::*;
use crate::OperationOutcome;
use crate::event::{EventType, NewEvent};
use crate::kernel::fixtures::{Around, NOW, stream, within};
use crate::ports::{Commit, Revision, Store as _};
use crate::testing::{Always, FakeApp, Reply, commit};

const SECOND: Duration = Duration::from_secs(1);

struct Fixture {
    around: Around,
    app: Arc<FakeApp>,
    webhooks: Arc<WebhookDispatcher>,
}

fn fixture() -> Fixture {
    let (around, app) = (Around::new(), Arc::new(FakeApp::default()));
    let core = Core { randomness: Arc::new(Always(0)), ..around.core() };
    let (webhooks, due) = WebhookDispatcher::new(core, around.store.clone(), Some(app.clone()));
    let webhooks = Arc::new(webhooks);
    around.tasks.spawn(Arc::clone(&webhooks).run(due));
    Fixture { around, app, webhooks }
}

impl Fixture {
    /// A stream has so many events that are not delivered yet.
    async fn add(&self, stream: StreamId, events: usize) {
        let event = NewEvent {
            event_type: EventType::StatusUpdate,
            at: NOW,
            data: "{}".into(),
            outcome: OperationOutcome::Completed,
        };
        let commit = Commit { events: vec![event; events], deliver: true, ..commit(stream, Revision::New, NOW) };
        self.around.store.commit(commit).await.unwrap();
    }

    /// Advances the clock and starts the deliveries that are due then; returns their streams.
    async fn pass(&self, by: Duration) -> Vec<StreamId> {
        let due: Vec<_> = self.around.timers_after(by).await.into_iter().map(|(stream, _)| stream).collect();
        due.iter().for_each(|stream| self.webhooks.due(*stream));
        due
    }

    async fn got(&self, wanted: &[(StreamId, u64)]) {
        assert_eq!(self.app.accepts(wanted.len()).await, wanted);
    }

    async fn attempts(&self, stream: StreamId, index: u64, wanted: u32) {
        while self.around.store.delivery(stream, index).await.unwrap().unwrap().attempts < wanted {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

#[tokio::test]
async fn events_are_posted_in_order_and_a_refusal_blocks_only_its_stream() {
    let fixture = fixture();
    fixture.add(stream(1), 2).await;
    fixture.app.set(|_| Reply::Refuse);
    fixture.webhooks.deliver_soon(stream(1));
    assert_eq!(fixture.pass(Duration::ZERO).await, [stream(1)]);
    fixture.attempts(stream(1), 0, 1).await;
    fixture.app.set(|_| Reply::Accept);
    fixture.add(stream(2), 1).await;
    fixture.webhooks.deliver_soon(stream(2));
    assert_eq!(fixture.pass(Duration::ZERO).await, [stream(2)]);
    fixture.got(&[(stream(2), 0)]).await;
    // The pause of five seconds has begun with the recorded attempt.
    let mut due = Vec::new();
    while due.is_empty() {
        due = fixture.pass(5 * SECOND).await;
    }
    assert_eq!(due, [stream(1)]);
    fixture.got(&[(stream(2), 0), (stream(1), 0), (stream(1), 1)]).await;
}

#[tokio::test]
async fn receiver_that_asks_to_be_spared_is_spared() {
    let fixture = fixture();
    fixture.add(stream(1), 1).await;
    fixture.app.set(|_| Reply::RetryAfter(7_200 * SECOND));
    fixture.webhooks.deliver_soon(stream(1));
    assert_eq!(fixture.pass(Duration::ZERO).await, [stream(1)]);
    fixture.attempts(stream(1), 0, 1).await;
    let mut waited = Duration::ZERO;
    while fixture.pass(100 * SECOND).await.is_empty() {
        waited += 100 * SECOND;
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert!((7_000..7_400).contains(&waited.as_secs()), "{waited:?}");
}

#[tokio::test]
async fn stream_is_reloaded_after_a_panic() {
    let fixture = fixture();
    fixture.add(stream(1), 1).await;
    fixture.webhooks.load().await.unwrap();
    fixture.app.set(|_| Reply::Panic);
    assert_eq!(fixture.pass(Duration::ZERO).await, [stream(1)]);
    within("it is left to the store", || fixture.webhooks.streams.lock().has_more().then_some(())).await;
    fixture.app.set(|_| Reply::Accept);
    fixture.webhooks.load().await.unwrap();
    assert_eq!(fixture.pass(Duration::ZERO).await, [stream(1)]);
    fixture.got(&[(stream(1), 0)]).await;
}
