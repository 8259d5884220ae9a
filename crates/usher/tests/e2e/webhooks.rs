//! The app's webhook: every event reaches it, in order within a stream, whatever it does with its connections.
//!
//! Retries come after 5 s, 30 s and so on; what needs the later ones is tested with a turned clock, in the engine.

mod crashes;
mod receiver_behaviour;
pub(crate) mod webhook_receiver;

use serde_json::{Value, json};
use usher_faults::relay::{Quirks, QuirkyRelay};

use self::webhook_receiver::App;
use crate::harness::{Api, Builder, Event, HandmadeWallet, LONG, TestUsher};

/// A service whose webhook is at `url`, and its relay.
async fn service(url: &str, more: impl FnOnce(Builder) -> Builder) -> (QuirkyRelay, TestUsher) {
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let builder = TestUsher::builder().relays(&[relay.url()]).set("WEBHOOK__URL", url);
    let usher = more(builder).start().await;
    relay.wait_for(LONG, |metrics| metrics.reqs >= 1).await.expect("the service subscribes");
    (relay, usher)
}

/// Starts a handshake that a new user completes.
async fn event(api: &Api, relay: &QuirkyRelay) -> String {
    let handshake = api.handshake(json!({})).await;
    relay.inject(HandmadeWallet::new().handshake(&handshake.url));
    handshake.stream
}

/// What is posted for an event.
fn body(stream: &str, event: &Event) -> Value {
    json!({
        "stream_id": stream,
        "index": event.index,
        "type": event.kind,
        "timestamp": event.timestamp,
        "data": event.data,
    })
}

/// The app has all events of these streams, as they are read from the service, each stream's in order.
async fn assert_complete(api: &Api, app: &App, streams: &[String]) {
    for stream in streams {
        let (events, _) = api.events(stream).await;
        let expected: Vec<_> = events.iter().map(|event| body(stream, event)).collect();
        assert_eq!(app.accepted(stream), expected, "what the app has of {stream}");
    }
    app.assert_order();
}
