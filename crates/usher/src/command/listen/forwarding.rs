//! Posts events to the local address, one after the other, each once.

use std::time::Instant;

use tokio::sync::mpsc;
use usher_engine::ports::{Clock as _, Posted, SystemClock, WebhookSender as _};
use usher_engine::{Event, EventType};

use super::feed::Shown;
use super::options::Forwarding;
use super::output::EventOutput;
use crate::failure::Failure;

/// Posts queued events forever; only waits if there is nothing to forward to.
pub(super) async fn forward(
    forwarding: Option<&Forwarding>,
    output: EventOutput,
    mut queue: mpsc::Receiver<Shown>,
) -> Result<(), Failure> {
    let Some(forwarding) = forwarding else { return std::future::pending().await };
    while let Some(shown) = queue.recv().await {
        let begun = Instant::now();
        let posted = post(forwarding, &shown).await;
        output.outcome(&shown, &posted, begun.elapsed())?;
    }
    Ok(())
}

async fn post(forwarding: &Forwarding, shown: &Shown) -> Posted {
    let stream = shown.stream.parse().ok();
    let (Some(stream), Some(event_type)) = (stream, EventType::parse(&shown.kind)) else {
        let reason = "not posted: this version does not know such events".to_owned();
        return Posted::Refused { http_status: None, reason, retry_after: None };
    };
    let event = Event { index: shown.index, event_type, timestamp: shown.timestamp, data: shown.data.as_str().into() };
    forwarding.receiver.post(stream, &event, SystemClock.now()).await
}
