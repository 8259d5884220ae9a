//! Reusable handshakes and their limits: a flood on one blocks no other.

use crate::common::*;

async fn scan(usher: &Running, author: u64, event: u64, relay: &str, copy: bool) {
    let bytes = |first: u64| {
        let mut bytes = [7; 32];
        bytes[..8].copy_from_slice(&first.to_be_bytes());
        bytes
    };
    let inbound = Inbound {
        event_id: EventId::from_byte_array(bytes(event)),
        author: PublicKey::from_byte_array(bytes(author)),
        created_at: usher.clock.now().secs(),
        message: handshake("door", &[]),
        via: Via { relay: Some(relay.into()), copy },
    };
    usher.inbox.send(inbound).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flood_over_one_relay_locks_out_nobody_who_uses_two() {
    let usher = Running::new().await;
    let stream = usher.reusable_handshake("door").await;
    for author in 0..3_000 {
        scan(&usher, author, author, "wss://a.example", false).await;
    }
    let scans = || usher.engine.scan_metrics();
    until("all scans are looked at", async || scans().accepted + scans().refused.iter().sum::<u64>() == 3_000).await;
    assert_eq!(scans().accepted, 2_000);
    // Their wallets send to both relays of the URL; the flooded one is quicker.
    for honest in 1_000_000..1_000_100 {
        for (relay, copy) in [("wss://a.example", false), ("wss://b.example", true), ("wss://b.example", true)] {
            scan(&usher, honest, honest, relay, copy).await;
        }
    }
    until("they are in", async || scans().accepted == 2_100).await;
    assert_eq!(usher.events(stream, 2_100).await.len(), 2_100);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn confusable_tokens_cannot_be_open_together() {
    let usher = Running::new().await;
    let open_one =
        async |token: &str| usher.engine.handshakes().start(&Requester::Service, reusable(token), None).await;
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
    for (n, sent, stream, after) in
        [(1, "bar%2F1", slash, 0), (2, "a%252Fb", encoded, 0), (3, "bar%25252F1", twice, 0), (4, "bar/1", slash, 1)]
    {
        usher.receive(n, &user(n), handshake(sent, &[])).await;
        assert_eq!(data(&usher.page(stream, after).await, 0)["main_key"], user(n).public_key().to_hex(), "{sent}");
    }
    assert_eq!(open_one("bar/1").await.unwrap().stream_id, slash, "asked for again, it is the same");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closed_handshake_accepts_no_scans_and_is_done() {
    let usher = Running::new().await;
    let stream = usher.reusable_handshake("door").await;
    usher.receive(1, &user(1), handshake("door", &[])).await;
    assert_eq!(usher.events(stream, 1).await.len(), 1);
    let engine = usher.engine.clone();
    let listed = engine.handshakes().list(&Requester::Service, None, 10).await.unwrap().items;
    assert_eq!((listed[0].stream_id, &listed[0].static_token[..], listed[0].accepted), (stream, "door", 1));

    let waiting = tokio::spawn({
        let engine = engine.clone();
        async move { engine.events().wait(ShownStream::to_service(stream), 1, 10, Duration::from_secs(3600)).await.unwrap() }
    });
    a_moment().await;
    for _ in 0..2 {
        engine.handshakes().close(&Requester::Service, stream).await.unwrap();
    }
    let page = waiting.await.unwrap();
    assert!(page.done && page.events.is_empty(), "who waits is told");
    assert!(engine.events().read(ShownStream::to_service(stream), 0, 10).await.unwrap().done);
    assert!(engine.handshakes().list(&Requester::Service, None, 10).await.unwrap().items.is_empty());
    // Opened again it has another URL, and the old one stays invalid.
    let anew = engine.handshakes().start(&Requester::Service, reusable("door"), None).await.unwrap();
    let token = token(&anew.url);
    assert!(anew.stream_id != stream && token.starts_with("door.") && token.len() == 17, "{token}");
    assert_eq!(
        engine.handshakes().start(&Requester::Service, reusable("door"), None).await.unwrap().url,
        anew.url,
        "the same again"
    );
    usher.receive(2, &user(2), handshake("door", &[])).await;
    until("the scan is looked at", async || engine.metrics().unmatched == 1).await;
    assert_eq!(engine.events().read(ShownStream::to_service(stream), 0, 10).await.unwrap().events.len(), 1);
    usher.receive(3, &user(3), handshake(&token, &[])).await;
    assert_eq!(data(&usher.page(anew.stream_id, 0).await, 0)["main_key"], user(3).public_key().to_hex());
    engine.handshakes().close(&Requester::Service, anew.stream_id).await.unwrap();
    let third = engine.handshakes().start(&Requester::Service, reusable("door"), None).await.unwrap();
    assert!(third.url != anew.url && third.stream_id != anew.stream_id);

    // A stream of another kind is not a key handshake.
    let login = usher.authenticate(1).await;
    for other in [login, StreamId::SUBSCRIPTIONS, StreamId::from_parts(1, [1; 10])] {
        let refused = engine.handshakes().close(&Requester::Service, other).await;
        assert!(matches!(refused, Err(CloseHandshakeError::NotFound)));
    }
}
