//! Only the holder of the lease writes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use usher_engine::ports::{
    DeliveryStore as _, IdempotencyStore as _, SettingStore as _, Store as _, StoreError, TicketStore as _,
};
use usher_store::conformance::{commit_done, create, id, new_record, refused, step, ticket_step};
use usher_store::{Acquired, Lease, PostgresFailure, PostgresOpenError, PostgresStore};

use usher_testing::until;

use super::{Place, acquire, request};

const LONG: Duration = Duration::from_secs(600);

/// Nothing of all that a store can be asked to write.
async fn writes_nothing(store: &PostgresStore) {
    let refusals = [
        store.commit(create(id(99))).await.map(drop),
        store.commit(step(id(1), 1)).await.map(drop),
        store.record_attempt(refused(id(1), 0, 1)).await.map(drop),
        store.add_idempotency_record(new_record(9, 1, 0)).await.map(drop),
        store.set_setting("late", Some("1")).await,
        store.commit_tickets(ticket_step(9, 0)).await.map(drop),
        store.remove_finished(usher_engine::UnixMillis(u64::MAX), 10).await.map(drop),
        store.check().await,
    ];
    for refusal in refusals {
        assert!(matches!(refusal, Err(StoreError::NotActive)), "{refusal:?}");
    }
}

#[tokio::test]
async fn one_of_many_contenders_acquires_the_lease() {
    let place = Place::new().await;
    let mut contenders = tokio::task::JoinSet::new();
    for number in 0..6 {
        let options = place.options();
        contenders.spawn(async move {
            // All of them may find an empty database.
            let lease = Lease::connect(&options).await.unwrap();
            lease.acquire(&request(&number.to_string(), LONG)).await.unwrap()
        });
    }
    let results = contenders.join_all().await;
    let held: Vec<_> = results.iter().filter(|result| matches!(result, Acquired::Held(_))).collect();
    assert_eq!(held.len(), 1, "{results:?}");
    for result in &results {
        if let Acquired::Taken(holder) = result {
            assert_eq!((holder.epoch, &*holder.address), (1, &*format!("http://{}", holder.owner)));
            assert!(holder.remaining > LONG / 2 && holder.remaining <= LONG);
        }
    }
}

#[tokio::test]
async fn take_over_raises_the_epoch_and_the_last_owner_writes_nothing() {
    let place = Place::new().await;
    let lease = Lease::connect(&place.options()).await.unwrap();
    let first = acquire(&lease, LONG).await;
    let old = PostgresStore::open(&place.options(), first.epoch).await.unwrap();
    commit_done(&old, create(id(1))).await;
    assert!(lease.renew(first.epoch, LONG).await.unwrap());
    assert!(lease.hand_over(first.epoch).await.unwrap());
    assert!(!lease.hand_over(first.epoch).await.unwrap());
    assert_eq!(lease.holder().await.unwrap(), None);
    writes_nothing(&old).await;

    let second = acquire(&lease, LONG).await;
    assert_eq!(second.epoch, first.epoch + 1);
    writes_nothing(&old).await;
    assert!(!lease.renew(first.epoch, LONG).await.unwrap());
    assert!(!lease.hand_over(first.epoch).await.unwrap(), "it is another's");
    let new = PostgresStore::open(&place.options(), second.epoch).await.unwrap();
    commit_done(&new, step(id(1), 1)).await;
    writes_nothing(&old).await;
    assert_eq!(new.setting("late").await.unwrap(), None);
    assert_eq!(new.operation(id(1)).await.unwrap().unwrap().revision, 2);
    let again = PostgresStore::open(&place.options(), first.epoch).await.err();
    assert!(matches!(again, Some(PostgresOpenError::Unusable(PostgresFailure::NotActive))), "{again:?}");
}

/// Also when nobody has taken the lease in between, as after SIGSTOP and SIGCONT. This instance believes that it has ten minutes left.
#[tokio::test]
async fn clock_of_the_database_decides() {
    let place = Place::new().await;
    let (held, store) = place.open(&place.options()).await;
    commit_done(&*store, create(id(1))).await;
    place.psql("UPDATE lease SET expires_at = clock_timestamp()").await;
    writes_nothing(&store).await;
    let lease = Lease::connect(&place.options()).await.unwrap();
    assert!(!lease.renew(held.epoch, LONG).await.unwrap(), "it does not come back");
    writes_nothing(&store).await;
}

/// It has locked the row, so that it ends before the next epoch begins.
#[tokio::test]
async fn transaction_under_way_delays_a_take_over() {
    let place = Place::new().await;
    let lease = Lease::connect(&place.options()).await.unwrap();
    let held = acquire(&lease, LONG).await;
    PostgresStore::open(&place.options(), held.epoch).await.unwrap().close().await;
    assert!(lease.renew(held.epoch, Duration::from_secs(5)).await.unwrap());
    let (server, database) = (place.server, place.database.clone());
    let slow = tokio::task::spawn_blocking(move || {
        let begin = "BEGIN; SELECT begin_write(epoch, session, 0) FROM lease; SELECT pg_sleep(8)";
        server.psql(&database, &format!("{begin}; INSERT INTO settings VALUES ('slow', '1'); COMMIT"));
    });
    until("the lease has expired", async || lease.holder().await.unwrap().is_none()).await;
    // An attempt that waits too long for the transaction gives up, and the instance tries again.
    let next = loop {
        match lease.acquire(&request("one", LONG)).await {
            Ok(Acquired::Held(held)) => break held,
            Ok(Acquired::Taken(holder)) => panic!("{holder:?}"),
            Err(_) => {}
        }
    };
    let store = PostgresStore::open(&place.options(), next.epoch).await.unwrap();
    assert_eq!(store.setting("slow").await.unwrap().as_deref(), Some("1"));
    slow.await.unwrap();
}

/// Two stores of one process, as when one was not closed.
#[tokio::test]
async fn last_opened_store_of_an_epoch_is_the_one_that_writes() {
    let place = Place::new().await;
    let (held, first) = place.open(&place.options()).await;
    commit_done(&*first, create(id(1))).await;
    let second = Arc::new(PostgresStore::open(&place.options(), held.epoch).await.unwrap());
    writes_nothing(&first).await;
    commit_done(&*second, step(id(1), 1)).await;
}

/// Both need the row of the lease: a busy store must not lose it.
#[tokio::test(flavor = "multi_thread")]
async fn commits_do_not_delay_renewals() {
    let place = Place::new().await;
    let (held, store) = place.open(&place.options()).await;
    let lease = Lease::connect(&place.options()).await.unwrap();
    let end = Instant::now() + Duration::from_secs(3);
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..32 {
        let store = Arc::clone(&store);
        writers.spawn(async move {
            let mut number = writer * 100_000;
            while Instant::now() < end {
                number += 1;
                commit_done(&*store, create(id(number))).await;
            }
            number % 100_000
        });
    }
    let (mut slowest, mut renewals) = (Duration::ZERO, 0);
    while Instant::now() < end {
        let began = Instant::now();
        assert!(lease.renew(held.epoch, LONG).await.unwrap());
        slowest = slowest.max(began.elapsed());
        renewals += 1;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let commits: u64 = writers.join_all().await.into_iter().sum();
    assert!(slowest < Duration::from_secs(20), "{slowest:?}");
    assert!(commits > renewals, "{renewals} renewals, {commits} commits");
}
