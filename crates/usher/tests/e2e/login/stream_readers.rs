//! Following a stream: long polls and server-sent events.

use std::time::{Duration, Instant};

use serde_json::json;
use usher_sandbox::wallet::Policy;

use super::service;
use crate::harness::{CallError, LONG, wallet_for};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_poll_sees_it_happen() {
    let (_relay, usher) = service().await;
    let api = usher.api();
    let wallet = wallet_for(Policy::silent()).await;
    let handshake = api.handshake(json!({})).await;

    let started = Instant::now();
    let page = api.try_events(&handshake.stream, 0, 1).await.unwrap();
    assert!(page.events.is_empty() && !page.done && started.elapsed() >= Duration::from_secs(1), "it waits");

    let polls: Vec<_> = (0..5)
        .map(|_| {
            let (api, stream) = (api.clone(), handshake.stream.clone());
            tokio::spawn(async move { api.try_events(&stream, 0, 50).await.unwrap() })
        })
        .collect();
    wallet.open(&handshake.url, LONG).await.unwrap();
    for poll in polls {
        let page = poll.await.unwrap();
        assert_eq!(page.events[0].main_key(), wallet.main_key().to_hex());
        assert!(page.done);
    }
    let started = Instant::now();
    let page = api.try_events(&handshake.stream, 1, 50).await.unwrap();
    assert!(page.events.is_empty() && page.done && started.elapsed() < Duration::from_secs(40), "nothing to wait for");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_sent_events_resume() {
    let (_relay, usher) = service().await;
    let api = usher.api();
    let handshake = api.handshake(json!({"static_token": "door"})).await;
    let mut feed = api.sse(&handshake.stream, None).await.unwrap();
    let mut told = Vec::new();
    for index in 0..3 {
        let wallet = wallet_for(Policy::silent()).await;
        wallet.open(&handshake.url, LONG).await.unwrap();
        let event = feed.next().await.expect("an event");
        assert_eq!((event.index, event.main_key()), (index, wallet.main_key().to_hex().as_str()));
        told.push(event);
    }
    drop(feed);
    // Two were read; the following ones arrive at once, in order, and then the new ones.
    let mut feed = api.sse(&handshake.stream, Some(0)).await.unwrap();
    assert_eq!(feed.next().await.as_ref(), Some(&told[1]));
    assert_eq!(feed.next().await.as_ref(), Some(&told[2]));
    let wallet = wallet_for(Policy::silent()).await;
    wallet.open(&handshake.url, LONG).await.unwrap();
    assert_eq!(feed.next().await.unwrap().index, 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_sent_events_end_with_the_stream() {
    let (_relay, usher) = service().await;
    let api = usher.api();
    let wallet = wallet_for(Policy::silent()).await;
    let handshake = api.handshake(json!({})).await;
    let mut feed = api.sse(&handshake.stream, None).await.unwrap();
    wallet.open(&handshake.url, LONG).await.unwrap();
    assert_eq!(feed.next().await.unwrap().kind, "KeyHandshake");
    assert!(feed.next().await.is_none(), "the answer ends");
    let mut feed = api.sse(&handshake.stream, None).await.unwrap();
    assert!(feed.next().await.is_some() && feed.next().await.is_none(), "it can be read again");
    assert_eq!(api.sse(&handshake.stream, Some(0)).await.err(), Some(204), "a browser is told not to come back");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_waited_for_ends_with_the_service() {
    let (_relay, mut usher) = service().await;
    let api = usher.api();
    let handshake = api.handshake(json!({})).await;
    let mut feed = api.sse(&handshake.stream, None).await.unwrap();
    let poll = {
        let (api, stream) = (api.clone(), handshake.stream.clone());
        tokio::spawn(async move { api.try_events(&stream, 0, 60).await })
    };
    api.long_polls(1).await;
    let status = usher.stop().await;
    assert_eq!(status.code(), Some(0), "stopped on request");
    assert!(feed.next().await.is_none());
    let page = poll.await.unwrap().expect("an answer, not a broken connection");
    assert!(page.events.is_empty() && !page.done);

    // It continues with the next one.
    usher.restart().await;
    let (events, done) = api.events(&handshake.stream).await;
    assert!(events.is_empty() && !done);
    match api.try_events("01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11", 0, 0).await {
        Err(CallError::Status(404, problem)) => assert_eq!(problem["code"], "stream_not_found"),
        other => panic!("{other:?}"),
    }
}
