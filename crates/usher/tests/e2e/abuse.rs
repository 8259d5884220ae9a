//! Abuse by unauthenticated peers, relays and API clients: logins still work, no event is false, memory is bounded.

mod api_clients;
mod relay_floods;
mod replays;

use serde_json::json;
use usher_testing::relay::QuirkyRelay;

use crate::harness::{Api, HandmadeWallet};

/// Waits until the service has read everything that the relay sent before: a handshake sent after it was seen.
async fn caught_up(api: &Api, relay: &QuirkyRelay) {
    let handshake = api.handshake(json!({})).await;
    relay.inject(HandmadeWallet::new().handshake(&handshake.url));
    api.outcome(&handshake.stream).await;
}
