//! The app's webhook.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::sleep;
use usher_engine::event::Event;
use usher_engine::ports::{Posted, WebhookSender};
use usher_engine::{StreamId, UnixMillis};

use crate::world::World;
use crate::world::instances::Seat;

/// How long a response is awaited.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The way to the receiver.
pub struct Webhook {
    /// The world.
    pub world: Arc<World>,
    /// Whose it is, of several instances.
    pub seat: Option<Seat>,
}

#[async_trait]
impl WebhookSender for Webhook {
    async fn post(&self, stream: StreamId, event: &Event, _now: UnixMillis) -> Posted {
        let (way, is_cut_off) = {
            let mut state = self.world.lock();
            state.call_begins(self.seat, "a webhook post");
            (state.decisions.delay(1..400), state.is_cut_from_receiver(self.seat))
        };
        if is_cut_off {
            sleep(TIMEOUT).await;
            return Posted::Refused { http_status: None, reason: "no connection".to_owned(), retry_after: None };
        }
        sleep(way).await;
        self.world.instant("before a post arrives").await;
        let posted = self.world.lock().posted(stream, event.index);
        self.world.queued.notify_one();
        self.world.instant("after a post arrived, before its answer").await;
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
