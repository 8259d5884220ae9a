//! The app's webhook.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::sleep;
use usher_engine::event::Event;
use usher_engine::ports::{Posted, WebhookSender};
use usher_engine::{StreamId, UnixMillis};

use crate::world::World;

/// How long a response is awaited.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The way to the receiver.
pub struct Webhook(pub Arc<World>);

#[async_trait]
impl WebhookSender for Webhook {
    async fn post(&self, stream: StreamId, event: &Event, _now: UnixMillis) -> Posted {
        let way = self.0.lock().decisions.delay(1..400);
        sleep(way).await;
        self.0.instant("before a post arrives").await;
        let posted = self.0.lock().posted(stream, event.index);
        self.0.queued.notify_one();
        self.0.instant("after a post arrived, before its answer").await;
        match posted {
            Some(posted) => {
                sleep(way).await;
                posted
            }
            None => {
                sleep(TIMEOUT).await;
                Posted::Refused { http_status: None, reason: "no answer".to_owned(), retry_after: None }
            }
        }
    }
}
