//! Commits that wait share round trips.

use std::sync::Arc;
use std::time::{Duration, Instant};

use usher_engine::ports::{Commit, SettingStore as _, Store as _};
use usher_store::conformance::{commit_done, create, event, id, key, step};

use super::Place;
use super::proxy::Proxy;

/// Far from the database: 3 steps of 200 operations, whose statements one after the other would take minutes.
#[tokio::test(flavor = "multi_thread")]
async fn many_steps_take_few_round_trips() {
    let place = Place::new().await;
    let proxy = Proxy::start(place.server.port()).await;
    let (_, store) = place.open(&place.options_by(proxy.port())).await;
    // Statements are prepared once.
    commit_done(&*store, Commit { events: vec![event(0)], claims: vec![key("a")], ..create(id(0)) }).await;
    commit_done(&*store, Commit { events: vec![event(0)], ..step(id(0), 1) }).await;
    proxy.latency(Duration::from_millis(50));
    let before = store.metrics().commit_seconds.count;
    let began = Instant::now();
    let mut operations = tokio::task::JoinSet::new();
    for number in 1..=200 {
        let store = Arc::clone(&store);
        operations.spawn(async move {
            let claims = vec![key(&number.to_string())];
            commit_done(&*store, Commit { events: vec![event(0)], claims, ..create(id(number)) }).await;
            for revision in 1..3 {
                commit_done(&*store, Commit { events: vec![event(1)], ..step(id(number), revision) }).await;
            }
        });
    }
    operations.join_all().await;
    let (took, groups) = (began.elapsed(), store.metrics().commit_seconds.count - before);
    assert!(groups <= 12, "{groups} transactions");
    assert!(took < Duration::from_secs(5), "{took:?}");
    proxy.latency(Duration::ZERO);
    for number in 1..=200 {
        assert_eq!(store.events(id(number), 0, 10).await.unwrap().len(), 3);
    }
}

/// One that a statement refuses fails alone.
#[tokio::test]
async fn failed_commit_does_not_affect_others_in_its_group() {
    let place = Place::new().await;
    let (_, store) = place.open(&place.options()).await;
    place.psql("ALTER TABLE operations ADD CHECK (state <> 'bad')").await;
    let mut commits = tokio::task::JoinSet::new();
    for number in 0..40 {
        let store = Arc::clone(&store);
        commits.spawn(async move {
            let mut commit = create(id(number));
            if number % 10 == 5 {
                commit.state.0 = "bad".to_owned();
            }
            store.set_setting(&number.to_string(), Some("1")).await.unwrap();
            (number, store.commit(commit).await)
        });
    }
    for (number, result) in commits.join_all().await {
        assert_eq!(result.is_ok(), number % 10 != 5, "{number}: {result:?}");
        assert_eq!(store.operation(id(number)).await.unwrap().is_some(), result.is_ok());
        assert_eq!(store.setting(&number.to_string()).await.unwrap().as_deref(), Some("1"));
    }
}
