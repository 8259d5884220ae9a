use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;

use super::*;
use crate::event::Event;
use crate::kernel::fixtures::{Around, MemoryDeliveries, stream, within};
use crate::testing::Always;

const SECOND: Duration = Duration::from_secs(1);

/// An app that accepts events, or refuses them, or makes the sender panic.
#[derive(Default)]
struct App {
    got: Mutex<Vec<(StreamId, u64)>>,
    refuses: AtomicBool,
    panics: AtomicBool,
}

#[async_trait]
impl WebhookSender for App {
    async fn post(&self, stream: StreamId, event: &Event, _: UnixMillis) -> Posted {
        assert!(!self.panics.swap(false, Ordering::SeqCst), "on purpose");
        if self.refuses.load(Ordering::SeqCst) {
            return Posted::Refused { http_status: Some(500), reason: "500".to_owned(), retry_after: None };
        }
        self.got.lock().push((stream, event.index));
        Posted::Accepted { http_status: 200 }
    }
}

struct Fixture {
    around: Around,
    store: Arc<MemoryDeliveries>,
    app: Arc<App>,
    webhooks: Arc<WebhookDispatcher>,
}

fn fixture() -> Fixture {
    let (around, store, app) = (Around::new(), Arc::new(MemoryDeliveries::default()), Arc::new(App::default()));
    let core = Core { randomness: Arc::new(Always(0)), ..around.empty_core() };
    let (webhooks, due) = WebhookDispatcher::new(core, store.clone(), Some(app.clone()));
    let webhooks = Arc::new(webhooks);
    around.tasks.spawn(Arc::clone(&webhooks).run(due));
    Fixture { around, store, app, webhooks }
}

impl Fixture {
    /// Advances the clock and starts the deliveries that are due then; returns their streams.
    async fn pass(&self, by: Duration) -> Vec<StreamId> {
        let due: Vec<_> = self.around.alarms_after(by).await.into_iter().map(|(stream, _)| stream).collect();
        due.iter().for_each(|stream| self.webhooks.due(*stream));
        due
    }

    async fn got(&self, wanted: &[(StreamId, u64)]) {
        within("the app has the events", || (*self.app.got.lock() == wanted).then_some(())).await;
    }

    async fn attempts(&self, stream: StreamId, index: u64, wanted: u32) {
        let made = || self.store.get(stream, index).attempts == wanted;
        within("the attempts are recorded", || made().then_some(())).await;
    }
}

#[tokio::test]
async fn events_are_posted_in_order_and_a_refusal_blocks_only_its_stream() {
    let fixture = fixture();
    for index in 0..2 {
        fixture.store.add(stream(1), index);
    }
    fixture.app.refuses.store(true, Ordering::SeqCst);
    fixture.webhooks.deliver_soon(stream(1));
    assert_eq!(fixture.pass(Duration::ZERO).await, [stream(1)]);
    fixture.attempts(stream(1), 0, 1).await;
    fixture.app.refuses.store(false, Ordering::SeqCst);
    fixture.store.add(stream(2), 0);
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
    fixture.around.stop().await;
}

#[tokio::test]
async fn stream_is_reloaded_after_a_panic() {
    let fixture = fixture();
    fixture.store.add(stream(1), 0);
    fixture.webhooks.load().await.unwrap();
    fixture.app.panics.store(true, Ordering::SeqCst);
    assert_eq!(fixture.pass(Duration::ZERO).await, [stream(1)]);
    within("it is left to the store", || fixture.webhooks.streams.lock().has_more().then_some(())).await;
    fixture.webhooks.load().await.unwrap();
    assert_eq!(fixture.pass(Duration::ZERO).await, [stream(1)]);
    fixture.got(&[(stream(1), 0)]).await;
    fixture.around.stop().await;
}
