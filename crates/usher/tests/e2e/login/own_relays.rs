//! Users who are reached at relays of their own.

use usher_sandbox::relay::{Quirks, QuirkyRelay};
use usher_sandbox::wallet::{Identity, Policy, Wallet, WalletOptions};

use serde_json::json;

use super::service_with;
use crate::harness::{Builder, LONG, TestUsher, User, introduce};

/// A user introduces themselves at the service's relay, and from then on listens at a relay of their own alone, which
/// they call by this host. Answers the user's relay, and how the authentication ended.
async fn asked_at_their_own_relay(builder: Builder, host: &str) -> (QuirkyRelay, String) {
    let (_relay, usher) = service_with(builder).await;
    let api = usher.api();
    let own = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let address = format!("ws://{host}:{}", own.port());
    let user = Identity::generate();

    let wallet = Wallet::start(WalletOptions::new(user.clone()).relay(&address)).await;
    let handshake = api.handshake(json!({})).await;
    let event = introduce(&api, &wallet, &handshake, User::Once).await;
    assert_eq!(event.data["preferred_relays"], json!([address]));
    wallet.stop().await;
    own.wait_for(LONG, |counts| counts.open_connections == 0).await.expect("they hang up");

    let at_home = WalletOptions::new(user.clone()).relay(own.url()).policy(Policy::auto_approve());
    let _at_home = Wallet::start(at_home).await;
    let before = own.wait_for(LONG, |counts| counts.open_subscriptions > 0).await.unwrap().connections;
    let event = api.outcome(&api.authenticate(&user.public_key(), &[]).await).await;
    assert!(own.counts().connections == before || event.status() == "approved", "it came, but without success");
    (own, event.status().to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_is_asked_at_their_own_relay() {
    for host in ["127.0.0.1", "localhost"] {
        let builder = TestUsher::builder().set("NOSTR__ALLOW_PRIVATE_RELAYS", true);
        let (own, outcome) = asked_at_their_own_relay(builder, host).await;
        assert_eq!(outcome, "approved");
        assert!(own.counts().events_of(usher_protocol::kind::AUTH_CHALLENGE) > 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stranger_cannot_send_us_into_our_own_network() {
    for host in ["127.0.0.1", "localhost"] {
        let builder = TestUsher::builder().set("AUTH__CHALLENGE_TTL_SECONDS", 5);
        let (own, outcome) = asked_at_their_own_relay(builder, host).await;
        assert_eq!(outcome, "timeout");
        assert_eq!(own.counts().events_of(usher_protocol::kind::AUTH_CHALLENGE), 0);
    }
}
