//! A relay that floods its clients with junk events.

use std::collections::HashSet;

use nostr::Keys;
use usher_faults::relay::{Flood, Junk, JunkEvents, Quirks, QuirkyRelay};
use usher_protocol::envelope;

use crate::raw_client::{Raw, event_to};

#[test]
fn every_kind_of_junk_has_its_own_defect() {
    let us = Keys::generate();
    let make = |junk| JunkEvents::generate(us.public_key(), &[27001, 27010], &[junk], 4);
    for junk in [Junk::GarbageContent, Junk::GarbageText, Junk::UnknownChallenge, Junk::BadSignature, Junk::WrongId] {
        let events = make(junk);
        let events: Vec<_> = events.iter().collect();
        assert_eq!(events.len(), 4);
        assert_eq!(events.iter().map(|e| e.id).collect::<HashSet<_>>().len(), 4);
        assert_eq!(events.iter().map(|e| e.kind.as_u16()).collect::<Vec<_>>(), [27001, 27010, 27001, 27010]);
        for event in events {
            assert_eq!(event.verify_id(), junk != Junk::WrongId, "{junk:?}");
            let signed = !matches!(junk, Junk::BadSignature | Junk::WrongId);
            assert_eq!(event.verify().is_ok(), signed, "{junk:?}");
            let conversation = envelope::conversation_key(&us, &event.pubkey).unwrap();
            let readable = matches!(junk, Junk::GarbageText | Junk::UnknownChallenge);
            assert_eq!(envelope::open(&conversation, event).is_ok(), readable, "{junk:?}");
        }
    }
}

#[tokio::test]
async fn flood_runs_beside_real_events_and_can_stop() {
    let us = Keys::generate().public_key();
    let events = JunkEvents::generate(us, &[27001], &[Junk::GarbageContent, Junk::BadSignature], 50);
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let mut client = Raw::connect(relay.url()).await;
    client.subscribe("s", &us).await;
    relay.set(|quirks| quirks.flood = Some(Flood { per_second: 5_000, events }));
    let mut ids = HashSet::new();
    for _ in 0..500 {
        ids.insert(client.next_of("EVENT").await[2]["id"].as_str().unwrap().to_owned());
    }
    assert_eq!(ids.len(), 50);
    let real = event_to(&us, 27001, "real");
    client.publish(&real).await;
    while client.next_of("EVENT").await[2]["content"] != "real" {}
    relay.set(|quirks| quirks.flood = None);
    assert!(relay.metrics().flooded >= 500);
    // What was under way still comes; then there is silence.
    while tokio::time::timeout(crate::raw_client::QUIET, client.next()).await.is_ok() {}
}
