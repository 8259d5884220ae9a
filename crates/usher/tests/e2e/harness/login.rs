//! A login from end to end.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use usher_protocol::PublicKey;
use usher_sandbox::wallet::{Identity, Policy, Wallet, WalletOptions};

use super::api::Handshake;
use super::{Api, Event, LONG};

/// A new user whose wallet does this by itself.
pub(crate) async fn wallet_for(policy: Policy) -> Wallet {
    Wallet::start(WalletOptions::new(Identity::generate()).policy(policy)).await
}

/// How a user takes it when nothing happens.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum User {
    /// Opens the URL once: it has to work.
    Once,
    /// Opens the URL again now and then, and starts another login when one has no result.
    Stubborn,
}

/// The longest `wait` of a request for events, in seconds.
const MAX_WAIT: u64 = 60;

/// How long a stubborn user waits before the next try.
const RETRY_PAUSE: Duration = Duration::from_secs(5);

/// Opens a handshake URL and waits until the service knows the user.
pub(crate) async fn introduce(api: &Api, wallet: &Wallet, handshake: &Handshake, user: User) -> Event {
    let (tries, patience) = if user == User::Once { (1, LONG) } else { (24, RETRY_PAUSE) };
    for _ in 0..tries {
        // That no relay can be reached just now is for the user to try again, too.
        if wallet.open(&handshake.url, patience).await.is_err() {
            continue;
        }
        let page = api.try_events(&handshake.stream, 0, patience.as_secs().min(MAX_WAIT)).await.expect("events");
        if let Some(event) = page.events.into_iter().find(|event| event.main_key() == wallet.main_key().to_hex()) {
            assert_eq!(event.kind, "KeyHandshake");
            return event;
        }
        assert!(!page.done, "the handshake is over, without the user");
    }
    panic!("the service never learnt of the user");
}

/// Waits until the service has dealt with what this wallet has sent for operations that are over: it reads in order, and learns
/// of the wallet once more.
pub(crate) async fn caught_up(api: &Api, wallet: &Wallet) {
    let handshake = api.handshake(json!({})).await;
    introduce(api, wallet, &handshake, User::Once).await;
}

/// Logs a new user in: handshake, authentication, approval.
pub(crate) async fn login(api: &Api, user: User) -> PublicKey {
    let wallet = wallet_for(Policy::auto_approve()).await;
    let handshake = api.handshake(json!({})).await;
    introduce(api, &wallet, &handshake, user).await;
    let mut stream = api.authenticate(&wallet.main_key(), &[]).await;
    if user == User::Stubborn {
        for _ in 0..8 {
            let page = api.try_events(&stream, 0, MAX_WAIT / 2).await.expect("events");
            if page.done {
                break;
            }
            stream = api.authenticate(&wallet.main_key(), &[]).await;
        }
    }
    let event = api.outcome(&stream).await;
    assert_eq!((event.status(), event.main_key()), ("approved", wallet.main_key().to_hex().as_str()));
    wallet.stop().await;
    wallet.main_key()
}

/// Logs so many new users in at the same time.
pub(crate) async fn run_logins(api: &Api, count: usize, user: User) {
    join_all((0..count).map(|_| login(api, user))).await;
}
