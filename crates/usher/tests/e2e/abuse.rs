//! Abuse by unauthenticated peers, relays and API clients: logins still work, no event is false, memory is bounded.

mod api_clients;
mod forged_responses;
mod relay_floods;
mod replays;
mod token_guessing;

use serde_json::json;
use usher_faults::relay::{Quirks, QuirkyRelay};

use crate::harness::{Api, HandmadeWallet, LONG, QUIET, TestUsher};

async fn service() -> (QuirkyRelay, TestUsher) {
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let usher = TestUsher::builder().relays(&[relay.url()]).start().await;
    relay.wait_for(LONG, |metrics| metrics.reqs >= 1).await.expect("the service subscribes");
    (relay, usher)
}

/// Waits until the service has dealt with everything that the relay sent before: a handshake sent after it was seen.
async fn caught_up(api: &Api, relay: &QuirkyRelay) {
    let handshake = api.handshake(json!({})).await;
    relay.inject(HandmadeWallet::new().handshake(&handshake.url));
    api.outcome(&handshake.stream).await;
    // Inputs of different operations are dealt with side by side: give the slowest a moment.
    tokio::time::sleep(QUIET / 5).await;
}

/// This stream may have no event.
async fn assert_silent(api: &Api, stream: &str, after: &str) {
    let (events, done) = api.events(stream).await;
    assert!(events.is_empty() && !done, "after {after}: {events:?}");
}
