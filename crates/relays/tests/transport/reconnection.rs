//! Messages that wallets send while a connection is being renewed: they send them once.

use std::collections::HashSet;
use std::time::Duration;

use futures_util::SinkExt as _;
use nostr::{Event, JsonUtil as _};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};
use usher_faults::proxy::BreakableProxy;
use usher_faults::relay::{Quirks, QuirkyRelay};
use usher_protocol::{Keys, envelope, kind};

use crate::fixture::{DEADLINE, Service, eventually, now};

/// A wallet's connection that only sends.
struct Sender(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Sender {
    async fn connect(relay: &QuirkyRelay) -> Self {
        Self(tokio_tungstenite::connect_async(relay.url()).await.unwrap().0)
    }

    async fn send(&mut self, event: &Event) {
        self.0.send(Message::text(format!("[\"EVENT\",{}]", event.as_json()))).await.unwrap();
    }
}

async fn proxied(quirks: Quirks) -> (QuirkyRelay, BreakableProxy) {
    let relay = QuirkyRelay::start(quirks).await.unwrap();
    let proxy = BreakableProxy::start(relay.url().trim_start_matches("ws://")).await.unwrap();
    (relay, proxy)
}

fn handshake(service: &Service, created_at: u64) -> Event {
    let wallet = Keys::generate();
    let conversation = envelope::conversation_key(&wallet, &service.key()).unwrap();
    let text = r#"{"token":"abcd"}"#;
    envelope::seal(&wallet, &conversation, &[service.key()], None, kind::KEY_HANDSHAKE, text, created_at).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn relay_that_stores_ephemeral_events_delivers_missed_ones() {
    let strfry = Quirks { keeps_ephemeral: Some(Duration::from_secs(300)), ..Quirks::default() };
    let (relay, proxy) = proxied(strfry).await;
    let url = proxy.ws_url();
    let mut service = Service::start(&[&url]);
    service.subscribed_at(&url).await;
    let mut wallet = Sender::connect(&relay).await;
    let before = handshake(&service, now().secs());
    wallet.send(&before).await;
    assert_eq!(service.next().await.event_id, before.id);

    proxy.cut();
    eventually("noticed", || !service.status_of(&url).state.is_connected()).await;
    // Wallets whose clocks are right, slow, and fast, by as much as is accepted minus the time that this takes.
    let mut missed = HashSet::new();
    for wrong in [0_i64, -14 * 60, 14 * 60] {
        let event = handshake(&service, now().secs().saturating_add_signed(wrong));
        wallet.send(&event).await;
        missed.insert(event.id);
    }
    relay.wait_for(DEADLINE, |metrics| metrics.events_of(kind::KEY_HANDSHAKE) == 4).await.unwrap();
    proxy.restore();
    for _ in 0..3 {
        assert!(missed.remove(&service.next().await.event_id));
    }

    // Each further connection gets all of it again; it is known by now.
    for round in 1..=3 {
        let received = service.pool.metrics().received;
        proxy.cut();
        eventually("noticed", || !service.status_of(&url).state.is_connected()).await;
        proxy.restore();
        eventually("all of it again", || service.pool.metrics().received >= received + 4).await;
        assert_eq!(service.pool.metrics().delivered, 4, "round {round}");
    }
    assert!(service.inbox.try_recv().is_err());
    service.stop().await;
}
