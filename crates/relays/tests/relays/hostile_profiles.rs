//! Looking up hostile profiles.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use nostr::JsonUtil as _;
use serde_json::Value;
use tokio_tungstenite::tungstenite::Message;
use usher_protocol::Keys;
use usher_sandbox::relay::EmbeddedRelay;
use usher_testing::TcpServer;
use usher_testing::relay::QuirkyRelay;

use crate::fixture::{Plan, Service, relay};
use crate::wallet::{named, relay_list, store};

/// A relay that responds to every request with scripted messages, given the subscription's id, and its URL.
async fn liar(script: impl Fn(&str) -> Vec<String> + Copy + Send + Sync + 'static) -> (TcpServer, String) {
    let server = TcpServer::start(move |stream| async move {
        let Ok(mut socket) = tokio_tungstenite::accept_async(stream).await else { return };
        while let Some(Ok(message)) = socket.next().await {
            let Ok(frame) = serde_json::from_str::<Value>(message.to_text().unwrap_or_default()) else { continue };
            let (Some("REQ"), Some(id)) = (frame[0].as_str(), frame[1].as_str()) else { continue };
            for said in script(id) {
                if socket.send(Message::text(said)).await.is_err() {
                    return;
                }
            }
        }
    });
    let server = server.await;
    let url = format!("ws://{}", server.address());
    (server, url)
}

/// An event that is delivered without end.
fn flood(user: &Keys) -> &'static str {
    named(user, "jane", 10).as_json().leak()
}

fn delivery(id: &str, event: &str) -> String {
    format!("[\"EVENT\",\"{id}\",{event}]")
}

fn end(id: &str) -> String {
    format!("[\"EOSE\",\"{id}\"]")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endless_or_unrelated_responses_end_the_query() {
    let user = Keys::generate();
    let good = EmbeddedRelay::start().await.unwrap();
    store(good.url(), &[&named(&user, "jane", 10)]).await;
    let flood = flood(&user);
    let (_floods, floods) = liar(move |id| vec![delivery(id, flood); 5000]).await;
    let (_silent, silent) = liar(|_| Vec::new()).await;
    let (_chatter, chatter) = liar(|_| vec!["[\"NOTICE\",\"hello\"]".to_owned(); 1000]).await;
    let (_nonsense, nonsense) =
        liar(|id| vec!["{".to_owned(), "[]".to_owned(), "[\"EVENT\"]".to_owned(), end(id)]).await;
    let mut plan = Plan::new(&[good.url()]);
    plan.directory.relays_within = Duration::from_secs(10);
    let service = plan.serve().await;
    service.tell(&user.public_key(), &[&floods, &silent, &chatter, &nonsense]);
    assert_eq!(service.name(&user.public_key()).await, "jane");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endless_query_does_not_disconnect_the_service_relay() {
    let user = Keys::generate();
    let flood = flood(&user);
    let (_ours, url) = liar(move |id| if id == "usher" { vec![end(id)] } else { vec![delivery(id, flood); 500] }).await;
    let service = Service::at(&[&url]).await;
    assert_eq!(service.name(&user.public_key()).await, "jane");
    assert_eq!(service.pool.metrics().disconnects.get(), 0);
    assert!(service.pool.status()[0].state.is_connected());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn private_addresses_are_never_contacted() {
    let (inside, ours) = (relay().await, EmbeddedRelay::start().await.unwrap());
    let mut plan = Plan::new(&[ours.url()]);
    plan.relays.allow_private = false;
    let service = plan.serve().await;
    let user = Keys::generate();
    let by_name = format!("ws://localhost:{}", inside.port());
    let mapped = format!("ws://[::ffff:127.0.0.1]:{}", inside.port());
    store(ours.url(), &[&named(&user, "jane", 10), &relay_list(&user, &[inside.url(), &by_name, &mapped], 10)]).await;
    service.tell(&user.public_key(), &[inside.url(), &by_name, "ws://10.0.0.1", "file:///etc/passwd", "x"]);
    assert_eq!(service.name(&user.public_key()).await, "jane");
    assert_eq!(inside.metrics().connections, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn number_of_relays_queried_per_list_is_limited() {
    let mut relays = Vec::new();
    for _ in 0..12 {
        relays.push(relay().await);
    }
    let urls: Vec<_> = relays.iter().map(QuirkyRelay::url).collect();
    let ours = EmbeddedRelay::start().await.unwrap();
    let service = Service::at(&[ours.url()]).await;
    let user = Keys::generate();
    store(ours.url(), &[&relay_list(&user, &urls, 10)]).await;
    assert_eq!(service.profile(&user.public_key()).await, Ok(None));
    let visited: u64 = relays.iter().map(|relay| relay.metrics().connections).sum();
    assert_eq!(visited, 4);
}
