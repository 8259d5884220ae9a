//! Users who are reached at their own relays.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use serde_json::json;
use tokio::net::TcpListener;
use tokio::time::timeout;
use usher_faults::relay::{Quirks, QuirkyRelay};
use usher_protocol::kind;
use usher_sandbox::wallet::{Identity, Policy, Wallet, WalletOptions};

use super::service_with;
use crate::harness::{HandmadeWallet, LONG, TestUsher, User, introduce};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_is_asked_at_their_own_relay() {
    let (_relay, usher) = service_with(TestUsher::builder().set("NOSTR__ALLOW_PRIVATE_RELAYS", true)).await;
    let api = usher.api();
    for host in ["127.0.0.1", "localhost"] {
        let own = QuirkyRelay::start(Quirks::default()).await.unwrap();
        let address = format!("ws://{host}:{}", own.port());
        let user = Identity::generate();

        let wallet = Wallet::start(WalletOptions::new(user.clone()).relay(&address)).await;
        let handshake = api.handshake(json!({})).await;
        let event = introduce(&api, &wallet, &handshake, User::Once).await;
        assert_eq!(event.data["preferred_relays"], json!([address]));
        wallet.stop().await;

        // From now on the user is at home, and at the service's relay no more.
        let options = WalletOptions::new(user.clone()).relay(&address).policy(Policy::auto_approve());
        let _at_home = Wallet::start(options).await;
        let event = api.outcome(&api.authenticate(&user.public_key(), &[]).await).await;
        assert_eq!(event.status(), "approved");
        assert!(own.metrics().events_of(kind::AUTH_CHALLENGE) > 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stranger_cannot_send_us_into_our_own_network() {
    let (relay, usher) = service_with(TestUsher::builder().set("AUTH__CHALLENGE_TTL_SECONDS", 5)).await;
    let api = usher.api();
    let trap = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = trap.local_addr().unwrap().port();
    // Where there is no IPv6, nobody can be sent to it.
    let trap6 = TcpListener::bind((Ipv6Addr::LOCALHOST, port)).await.ok();
    let mut streams = Vec::new();
    for host in
        ["127.0.0.1", "127.1", "2130706433", "0x7f000001", "0.0.0.0", "localhost", "[::1]", "[::ffff:127.0.0.1]"]
    {
        let user = HandmadeWallet::new();
        let handshake = api.handshake(json!({})).await;
        let home = format!("ws://{host}:{port}");
        let text = json!({"token": handshake.url.token, "preferred_relays": [home]}).to_string();
        relay.inject(user.seal(usher.public_key(), kind::KEY_HANDSHAKE, &text));
        assert_eq!(api.outcome(&handshake.stream).await.main_key(), user.public_key().to_hex());
        streams.push(api.authenticate(&user.public_key(), &[]).await);
    }
    for stream in &streams {
        assert_eq!(api.outcome(stream).await.status(), "timeout");
    }
    for trap in [Some(trap), trap6].into_iter().flatten() {
        let caught = timeout(Duration::from_millis(100), trap.accept()).await;
        assert!(caught.is_err(), "it came to {:?}", trap.local_addr());
    }
    relay
        .wait_for(LONG, |metrics| metrics.events_of(kind::AUTH_CHALLENGE) >= 8)
        .await
        .expect("all were asked elsewhere");
}
