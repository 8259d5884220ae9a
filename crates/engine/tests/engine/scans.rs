//! Reusable handshakes and their limits: a flood on one locks nobody else out.

use crate::common;

use std::time::Duration;

use common::paying::until;
use common::{Running, handshake, reusable, user};
use usher_engine::ports::{Clock as _, Inbound, Via};
use usher_engine::{EngineMetrics, ScanMetrics, StartError};
use usher_protocol::{EventId, PublicKey};

/// A running service, with a reusable handshake, and the wallets that scan it.
struct Poster {
    usher: Running,
    stream: usher_engine::StreamId,
    events: u64,
}

impl Poster {
    async fn put_up() -> Self {
        let usher = Running::new().await;
        let stream = usher.reusable_handshake("door").await;
        Self { usher, stream, events: 0 }
    }

    /// A wallet's event comes over a relay.
    async fn scan(&mut self, author: u64, relay: &str) -> EventId {
        self.events += 1;
        let event_id = id(self.events);
        self.deliver(author, event_id, over(relay), self.usher.clock.now().secs()).await;
        event_id
    }

    async fn deliver(&self, author: u64, event_id: EventId, via: Via, created_at: u64) {
        let message = handshake("door", &[]);
        let inbound = Inbound { event_id, author: key(author), created_at, message, via };
        self.usher.inbox.send(inbound).await.unwrap();
    }

    fn accepted(&self) -> u64 {
        self.usher.engine.scan_metrics().accepted
    }

    async fn seen(&self, scans: u64) -> (EngineMetrics, ScanMetrics) {
        let engine = &self.usher.engine;
        let of = |metrics: ScanMetrics| metrics.accepted + metrics.refused.iter().sum::<u64>();
        until("all scans are looked at", || of(engine.scan_metrics()) >= scans).await;
        (engine.metrics(), engine.scan_metrics())
    }

    async fn events(&self) -> usize {
        let accepted = self.accepted();
        let mut after = 0;
        while after < accepted {
            after = self.usher.page(self.stream, after).await.next;
        }
        usize::try_from(after).unwrap()
    }
}

fn key(author: u64) -> PublicKey {
    let mut key = [7; 32];
    key[..8].copy_from_slice(&author.to_be_bytes());
    PublicKey::from_byte_array(key)
}

fn id(n: u64) -> EventId {
    let mut id = [3; 32];
    id[..8].copy_from_slice(&n.to_be_bytes());
    EventId::from_byte_array(id)
}

fn over(relay: &str) -> Via {
    Via { relay: Some(relay.into()), copy: false }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flood_over_one_relay_locks_out_nobody_who_uses_two() {
    let mut poster = Poster::put_up().await;
    for author in 0..3_000 {
        poster.scan(author, "wss://a.example").await;
    }
    poster.seen(3_000).await;
    let before = poster.accepted();
    assert_eq!(before, 2_000);
    let created_at = poster.usher.clock.now().secs();
    // Their wallets send to both relays of the URL; the flooded one is quicker.
    for honest in 0..100 {
        let event_id = poster.scan(1_000_000 + honest, "wss://a.example").await;
        let copy = Via { copy: true, ..over("wss://b.example") };
        for _ in 0..2 {
            poster.deliver(1_000_000 + honest, event_id, copy.clone(), created_at).await;
        }
    }
    until("they are in", || poster.accepted() == before + 100).await;
    assert_eq!(poster.events().await, 2_100);
}

/// The `created_at` of a message may be up to 15 minutes in the past or the future.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn claimed_timestamps_give_no_extra_scans() {
    let poster = Poster::put_up().await;
    let now = poster.usher.clock.now().secs();
    for (n, minutes) in (1..).zip(0..30) {
        poster.deliver(1, id(n), over("wss://a.example"), now - 900 + minutes * 60).await;
    }
    poster.seen(30).await;
    assert_eq!(poster.accepted(), 1);
    // A wallet whose clock is ahead loses nothing: once it is corrected, the next scan is accepted.
    poster.deliver(2, id(100), over("wss://a.example"), now + 800).await;
    poster.seen(31).await;
    assert_eq!(poster.events().await, 2);
    poster.usher.clock.turn(Duration::from_secs(61));
    poster.deliver(2, id(101), over("wss://a.example"), now + 61).await;
    poster.seen(32).await;
    assert_eq!(poster.events().await, 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn confusable_tokens_cannot_be_open_together() {
    let usher = Running::new().await;
    let open_one = async |token: &str| usher.engine.handshakes().start(reusable(token), None).await;
    let refused = |started: Result<_, StartError>| matches!(started, Err(StartError::Invalid(fields)) if fields[0].pointer == "/static_token");
    let slash = open_one("bar/1").await.unwrap().stream_id;
    for like in ["bar%2F1", "bar%2f1", "%62ar/1"] {
        assert!(refused(open_one(like).await), "{like}");
    }
    let encoded = open_one("a%2Fb").await.unwrap().stream_id;
    assert!(refused(open_one("a/b").await) && refused(open_one("a%252Fb").await));
    open_one("100%").await.unwrap();
    // Being confusable is not transitive: these two are different tokens.
    let twice = open_one("bar%252F1").await.unwrap().stream_id;
    for (n, sent, stream) in [
        (1, "bar%2F1", slash),
        (2, "bar%2f1", slash),
        (3, "a%252Fb", encoded),
        (4, "bar%25252F1", twice),
        (5, "bar/1", slash),
    ] {
        usher.receive(n, &user(n), handshake(sent, &[])).await;
        let known = u64::from(n) - 1;
        let after = if stream == slash { [0, 1, 2, 2, 2].get(known as usize).copied().unwrap() } else { 0 };
        let page = usher.page(stream, after).await;
        assert_eq!(common::data(&page, 0)["main_key"], user(n).public_key().to_hex(), "{sent}");
    }
    assert_eq!(open_one("bar/1").await.unwrap().stream_id, slash, "asked for again, it is the same");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closed_handshake_accepts_no_scans_and_is_done() {
    let mut poster = Poster::put_up().await;
    poster.scan(1, "wss://a.example").await;
    poster.seen(1).await;
    assert_eq!(poster.events().await, 1);
    let (engine, stream) = (poster.usher.engine.clone(), poster.stream);
    let listed = engine.handshakes().list(None, 10).await.unwrap().handshakes;
    assert_eq!(listed.len(), 1);
    assert_eq!((listed[0].stream_id, &listed[0].static_token[..], listed[0].accepted), (stream, "door", 1));

    let waiting = tokio::spawn({
        let engine = engine.clone();
        async move { engine.events().wait(stream, 1, 10, Duration::from_secs(3600)).await.unwrap() }
    });
    tokio::time::sleep(Duration::from_millis(20)).await;
    for _ in 0..2 {
        engine.handshakes().close(stream).await.unwrap();
    }
    let page = waiting.await.unwrap();
    assert!(page.done && page.events.is_empty(), "who waits is told");
    assert!(engine.events().read(stream, 0, 10).await.unwrap().done);
    assert!(engine.handshakes().list(None, 10).await.unwrap().handshakes.is_empty());
    // Opened again it has another URL, and the old one stays invalid.
    let anew = engine.handshakes().start(reusable("door"), None).await.unwrap();
    let token = common::token(&anew.url);
    assert!(anew.stream_id != stream && token.starts_with("door.") && token.len() == 17, "{token}");
    assert_eq!(engine.handshakes().start(reusable("door"), None).await.unwrap().url, anew.url, "the same again");
    poster.scan(2, "wss://a.example").await;
    until("the scan is looked at", || engine.metrics().unmatched == 1).await;
    assert_eq!(engine.events().read(stream, 0, 10).await.unwrap().events.len(), 1);
    poster.usher.receive(201, &user(3), handshake(&token, &[])).await;
    assert_eq!(common::data(&poster.usher.page(anew.stream_id, 0).await, 0)["main_key"], user(3).public_key().to_hex());
    engine.handshakes().close(anew.stream_id).await.unwrap();
    let third = engine.handshakes().start(reusable("door"), None).await.unwrap();
    assert!(third.url != anew.url && third.stream_id != anew.stream_id);

    // A stream of another kind is not a key handshake.
    let login = poster.usher.authenticate(1).await;
    for other in [login, usher_engine::StreamId::SUBSCRIPTIONS, usher_engine::StreamId::from_parts(1, [1; 10])] {
        let refused = engine.handshakes().close(other).await;
        assert!(matches!(refused, Err(usher_engine::CloseHandshakeError::NotFound)));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reusable_handshakes_are_paginated_even_after_a_restart() {
    let usher = Running::new().await;
    let mut opened = Vec::new();
    for n in 0..5 {
        opened.push(usher.reusable_handshake(&format!("table-{n}")).await);
        usher.handshake().await;
        usher.clock.turn(Duration::from_millis(1));
    }
    usher.engine.handshakes().close(opened.remove(3)).await.unwrap();
    let usher = usher.restart(Duration::ZERO).await;
    let (mut listed, mut after) = (Vec::new(), None);
    loop {
        let page = usher.engine.handshakes().list(after, 2).await.unwrap();
        listed.extend(page.handshakes.into_iter().map(|handshake| handshake.stream_id));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(listed, opened);
}
