//! The service is killed at fail points.

use serde_json::json;
use usher_sandbox::wallet::Identity;

use super::{dice, pause};
use crate::harness::{LONG, TestUsher};
use usher_faults::relay::{Quirks, QuirkyRelay};
use usher_test_tools::soak;

/// As [`service`], but nothing expires while a test runs.
async fn patient_service() -> (QuirkyRelay, TestUsher) {
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let usher = TestUsher::builder().relays(&[relay.url()]).start().await;
    relay.wait_for(LONG, |metrics| metrics.reqs >= 1).await.expect("the service subscribes");
    (relay, usher)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn right_after_the_answer_the_stream_is_there() {
    let mut dice = dice();
    let (_relay, mut usher) = patient_service().await;
    let api = usher.api();
    let user = Identity::generate().public_key();
    let mut streams = Vec::new();
    let reusable = api.handshake(json!({"static_token": "door"})).await;
    for _ in 0..soak::repetitions(8) {
        // Several at once; the first response is the signal, and all other responses are checked, too.
        let calls: Vec<_> = (0..6)
            .map(|number| {
                let api = api.clone();
                tokio::spawn(async move {
                    match number % 2 {
                        0 => api.try_handshake(&json!({})).await.map(|handshake| handshake.stream),
                        _ => api.try_authenticate(&user.to_hex(), &[]).await,
                    }
                })
            })
            .collect();
        let mut answered = futures_util::future::select_all(calls).await;
        usher.kill();
        streams.push(answered.0.unwrap().expect("the first answer"));
        while !answered.2.is_empty() {
            answered = futures_util::future::select_all(answered.2).await;
            streams.extend(answered.0.unwrap().ok());
        }
        // Killed while it starts, too.
        usher.spawn();
        pause(&mut dice, 80).await;
        usher.restart().await;
        for stream in &streams {
            let (events, done) = api.events(stream).await;
            assert!(events.is_empty() && !done);
        }
        let again = api.handshake(json!({"static_token": "door"})).await;
        assert_eq!(
            (&again.stream, &again.url),
            (&reusable.stream, &reusable.url),
            "a static token is the same for ever"
        );
    }
}
