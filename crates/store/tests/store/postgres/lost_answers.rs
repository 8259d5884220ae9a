//! The response to COMMIT is lost: the store finds out the outcome, or reports it as unknown.

use std::sync::Arc;
use std::time::{Duration, Instant};

use usher_engine::ports::{
    Commit, Committed, DeliveryStore as _, SettingStore as _, Store as _, StoreError, TicketCommitted, TicketStore as _,
};
use usher_store::conformance::{accepted, commit_done, create, event, id, step, ticket_job, ticket_step};
use usher_store::{PostgresFailure, PostgresStore};
use usher_testing::until;

use super::Place;
use super::proxy::{Fault, Proxy};

async fn open() -> (Place, Proxy, Arc<PostgresStore>) {
    let place = Place::new().await;
    let proxy = Proxy::start(place.server.port()).await;
    let (_, store) = place.open(&place.options_by(proxy.port())).await;
    let first = Commit { deliver: true, events: vec![event(0), event(1)], ..create(id(1)) };
    commit_done(&*store, first).await;
    (place, proxy, store)
}

fn failure<T: std::fmt::Debug>(result: Result<T, StoreError>) -> PostgresFailure {
    match result {
        Err(StoreError::Failed(failure)) => failure.downcast_ref::<PostgresFailure>().unwrap().clone(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn commit_that_happened_is_acknowledged() {
    let (_place, proxy, store) = open().await;
    proxy.fault(Fault::CutAfter);
    let next = Commit { events: vec![event(2)], ..step(id(1), 1) };
    assert_eq!(store.commit(next).await.unwrap(), Committed::Done { revision: 2, next_index: 3 });
    assert_eq!(store.events(id(1), 0, 10).await.unwrap().len(), 3);

    proxy.fault(Fault::CutAfter);
    assert_eq!(store.commit_tickets(ticket_step(1, 0)).await.unwrap(), TicketCommitted::Done(1));
    assert!(store.ticket_job(ticket_job(1)).await.unwrap().is_some());

    proxy.fault(Fault::CutAfter);
    store.set_setting("a", Some("1")).await.unwrap();
    assert_eq!(store.setting("a").await.unwrap().as_deref(), Some("1"));

    // Whether it was the first is known only to the lost answer.
    proxy.fault(Fault::CutAfter);
    let attempt = failure(store.record_attempt(accepted(id(1), 0, 5)).await);
    assert!(matches!(attempt, PostgresFailure::OutcomeUnknown), "{attempt:?}");
    assert_eq!(store.delivery(id(1), 0).await.unwrap().unwrap().attempts, 1);
    commit_done(&*store, step(id(1), 2)).await;
}

#[tokio::test]
async fn commit_that_did_not_happen_fails_and_can_be_repeated() {
    let (_place, proxy, store) = open().await;
    for revision in 1..4 {
        proxy.fault(Fault::CutBefore);
        let next = || Commit { events: vec![event(9)], ..step(id(1), revision) };
        let lost = failure(store.commit(next()).await);
        assert!(matches!(lost, PostgresFailure::Lost { .. }), "{lost:?}");
        assert_eq!(store.operation(id(1)).await.unwrap().unwrap().revision, revision);
        assert_eq!(commit_done(&*store, next()).await, (revision + 1, revision + 2));
    }
}

/// A group of commits: each caller gets its outcome.
#[tokio::test]
async fn all_commits_of_a_group_share_the_outcome() {
    for (fault, happens) in [(Fault::CutAfter, true), (Fault::CutBefore, false)] {
        let (_place, proxy, store) = open().await;
        proxy.fault(fault);
        let mut commits = tokio::task::JoinSet::new();
        for number in 2..40 {
            let store = Arc::clone(&store);
            commits.spawn(async move { (number, store.commit(create(id(number))).await) });
        }
        let mut lost = 0;
        for (number, result) in commits.join_all().await {
            let is_stored = store.operation(id(number)).await.unwrap().is_some();
            assert_eq!(result.is_ok(), is_stored, "{number}: {result:?}");
            lost += usize::from(!is_stored);
        }
        assert_eq!(lost > 0, !happens);
    }
}

/// It reaches the server after the store has found out that it did not happen: the server refuses it.
#[tokio::test]
async fn transaction_that_arrives_late_is_refused() {
    let (_place, proxy, store) = open().await;
    proxy.fault(Fault::Delay);
    let lost = failure(store.commit(Commit { events: vec![event(7)], ..step(id(1), 1) }).await);
    assert!(matches!(lost, PostgresFailure::Lost { .. }), "{lost:?}");
    assert_eq!(store.operation(id(1)).await.unwrap().unwrap().revision, 1);
    let said = proxy.release().await;
    assert!(said.windows(5).any(|window| window == b"UL001"), "{}", String::from_utf8_lossy(&said));
    assert_eq!(store.operation(id(1)).await.unwrap().unwrap().revision, 1);
    commit_done(&*store, step(id(1), 1)).await;
    assert_eq!(store.events(id(1), 0, 10).await.unwrap().len(), 2);
}

/// Until then nothing is read: it could be wrong a moment later. If it had not happened, the store goes on by itself.
#[tokio::test]
async fn outcome_that_cannot_be_found_out_is_unknown() {
    for (fault, happens) in [(Fault::CutBefore, false), (Fault::CutAfter, true)] {
        find_out_late(fault, happens).await;
    }
}

async fn find_out_late(fault: Fault, happens: bool) {
    let place = Place::new().await;
    let proxy = Proxy::start(place.server.port()).await;
    let mut options = place.options_by(proxy.port());
    options.outcome_timeout = Duration::from_millis(500);
    let (held, store) = place.open(&options).await;
    commit_done(&*store, create(id(1))).await;
    assert!(store.operation(id(1)).await.unwrap().is_some());

    proxy.fault(fault);
    proxy.refuse(true);
    let unknown = failure(store.commit(step(id(1), 1)).await);
    assert!(matches!(unknown, PostgresFailure::OutcomeUnknown), "{unknown:?}");
    // Although its connection is there.
    let unread = failure(store.operation(id(1)).await);
    assert!(matches!(unread, PostgresFailure::OutcomeUnknown), "{unread:?}");
    proxy.refuse(false);
    if happens {
        // What callers have in memory lacks it.
        store.failed().await;
        assert!(store.operation(id(1)).await.is_err() && store.commit(step(id(1), 2)).await.is_err());
        drop(store);
        let again = PostgresStore::open(&options, held.epoch).await.unwrap();
        assert_eq!(again.operation(id(1)).await.unwrap().unwrap().revision, 2);
    } else {
        let operation = until("the store is reached", async || store.operation(id(1)).await.ok()).await;
        assert_eq!(operation.unwrap().revision, 1);
        commit_done(&*store, step(id(1), 1)).await;
    }
}

/// As in a network that loses all packets: nothing waits for ever.
#[tokio::test]
async fn silent_connection_is_given_up() {
    let place = Place::new().await;
    let proxy = Proxy::start(place.server.port()).await;
    let mut options = place.options_by(proxy.port());
    options.outcome_timeout = Duration::from_millis(500);
    let (_, store) = place.open(&options).await;
    commit_done(&*store, create(id(1))).await;
    proxy.silence(true);
    let began = Instant::now();
    failure(store.operation(id(1)).await);
    failure(store.commit(step(id(1), 1)).await);
    failure(store.set_setting("a", Some("1")).await);
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    proxy.silence(false);
    until("the store is reached", async || store.check().await.is_ok()).await;
    let revision = store.operation(id(1)).await.unwrap().unwrap().revision;
    commit_done(&*store, step(id(1), revision)).await;
}
