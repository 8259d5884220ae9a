//! Errors and restarts of the server.

use std::sync::Arc;
use std::time::Duration;

use usher_engine::ports::{Commit, Committed, Store as _};
use usher_store::conformance::{commit_done, create, id, inbound, step};
use usher_store::{Lease, PostgresOpenError, PostgresOptions, PostgresStore};
use usher_testing::PostgresServer;
use usher_testing::until;

use super::{Place, acquire};
use crate::chain;

async fn refused(options: &PostgresOptions) -> PostgresOpenError {
    Lease::connect(options).await.expect_err("should have been refused")
}

#[tokio::test]
async fn refusals_say_why_and_do_not_contain_the_password() {
    let place = Place::new().await;
    place.psql("CREATE ROLE few LOGIN CONNECTION LIMIT 0 PASSWORD 'not-to-be-logged'").await;
    place.psql("CREATE ROLE quiet LOGIN PASSWORD 'not-to-be-logged'").await;
    place.psql("ALTER ROLE quiet SET default_transaction_read_only = on").await;
    let url = place.server.url(&place.database);
    let with = |from: &str, to: &str| PostgresOptions::new(url.replace(from, to).into());
    let port = usher_loopback_port::free().unwrap();
    for (options, reason) in [
        (with("usher:", "few:"), "too many connections"),
        (with("usher:", "quiet:"), "does not allow writes"),
        (with("usher:", "nobody:"), "password authentication failed"),
        (with(&place.database, "absent"), "does not exist"),
        (with("sslmode=disable", ""), "TLS"),
        (with(&place.server.port().to_string(), &port.to_string()), "refused"),
    ] {
        let error = refused(&options).await;
        let text = chain(&error);
        assert!(text.contains(reason), "{text}");
        assert!(!format!("{text} {error:?} {options:?}").contains(place.server.password()), "{text}");
    }
}

#[tokio::test]
async fn databases_of_others_are_refused() {
    let place = Place::new().await;
    place.psql("CREATE TABLE operations (x int)").await;
    assert!(matches!(refused(&place.options()).await, PostgresOpenError::Foreign));
    place.psql("DROP TABLE operations").await;
    let (_, store) = place.open(&place.options()).await;
    store.close().await;
    place.psql("INSERT INTO migrations VALUES (1000, now())").await;
    let newer = PostgresStore::open(&place.options(), 1).await.err().unwrap();
    assert!(matches!(newer, PostgresOpenError::Newer { found: 1000, .. }), "{newer:?}");
    place.psql("UPDATE pg_database SET encoding = 0 WHERE datname = current_database()").await;
    let encoding = refused(&place.options()).await;
    assert!(matches!(encoding, PostgresOpenError::Encoding { .. }), "{encoding:?}");
}

#[tokio::test]
async fn lock_that_is_not_free_is_an_error_in_time() {
    let place = Place::new().await;
    let (_, store) = place.open(&place.options()).await;
    commit_done(&*store, create(id(1))).await;
    let (server, database) = (place.server, place.database.clone());
    let locker = tokio::task::spawn_blocking(move || {
        server.psql(&database, "BEGIN; LOCK TABLE inbound IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(600); COMMIT")
    });
    let locked = "SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND relation = 'inbound'::regclass AND granted";
    until("the lock", async || place.psql(locked).await == "1").await;
    let locking = || Commit { inbound: vec![inbound(1)], ..step(id(1), 1) };
    // Whichever of them share a transaction, the one that needs no lock is committed.
    let (error, second, other) =
        tokio::join!(store.commit(locking()), store.commit(locking()), store.commit(create(id(2))));
    place.psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(600)%' AND pid <> pg_backend_pid()").await;
    locker.await.unwrap_err();
    for error in [error.unwrap_err(), second.unwrap_err()] {
        assert!(chain(&error).contains("a lock was not free in time"), "{}", chain(&error));
    }
    assert!(matches!(other.unwrap(), Committed::Done { .. }));
    commit_done(&*store, locking()).await;
}

#[tokio::test]
async fn ended_connections_are_replaced() {
    let place = Place::new().await;
    let (_, store) = place.open(&place.options()).await;
    commit_done(&*store, create(id(1))).await;
    assert!(store.operation(id(1)).await.unwrap().is_some());
    place
        .psql(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid()",
        )
        .await;
    // A query is repeated; a commit was not sent, or has an outcome.
    assert!(store.operation(id(1)).await.unwrap().is_some());
    match store.commit(step(id(1), 1)).await {
        Ok(_) => {}
        Err(_) => drop(commit_done(&*store, step(id(1), 1)).await),
    }
    assert_eq!(store.operation(id(1)).await.unwrap().unwrap().revision, 2);
}

/// It crashes while commits are under way: what was acknowledged is there, and work goes on by itself.
#[tokio::test(flavor = "multi_thread")]
async fn restart_of_the_server_loses_nothing() {
    let mut server = tokio::task::spawn_blocking(PostgresServer::start).await.unwrap();
    let options =
        PostgresOptions { timeout: Duration::from_secs(10), ..PostgresOptions::new(server.url("postgres").into()) };
    let lease = Lease::connect(&options).await.unwrap();
    let held = acquire(&lease, Duration::from_secs(600)).await;
    let store = Arc::new(PostgresStore::open(&options, held.epoch).await.unwrap());
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let acknowledged = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let more = async || {
        let before = acknowledged.load(std::sync::atomic::Ordering::Relaxed);
        let is_more = async || acknowledged.load(std::sync::atomic::Ordering::Relaxed) > before + 16;
        until("commits go on", is_more).await;
    };
    let mut workers = tokio::task::JoinSet::new();
    for worker in 0..8 {
        let (store, stop, acknowledged) = (Arc::clone(&store), Arc::clone(&stop), Arc::clone(&acknowledged));
        workers.spawn(async move {
            let (mut done, mut number) = (Vec::new(), worker * 100_000);
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                number += 1;
                match store.commit(create(id(number))).await {
                    Ok(_) => {
                        done.push(number);
                        acknowledged.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    }
                    Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
                }
            }
            done
        });
    }
    more().await;
    let server = tokio::task::spawn_blocking(move || {
        server.stop();
        server.restart();
        server
    });
    let server = server.await.unwrap();
    more().await;
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    let done: Vec<_> = workers.join_all().await.into_iter().flatten().collect();
    for number in done {
        assert!(store.operation(id(number)).await.unwrap().is_some(), "{number}");
    }
    store.close().await;
    drop(server);
}

/// Every commit of the group gets the error, none is stored, and the same commits succeed later.
#[tokio::test]
async fn full_disk_fails_the_group_and_says_so() {
    let place = Place::new().await;
    let (_, store) = place.open(&place.options()).await;
    commit_done(&*store, create(id(0))).await;
    place
        .psql(
            "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$;
            CREATE TRIGGER full_disk BEFORE INSERT ON operations EXECUTE FUNCTION full_disk()",
        )
        .await;
    let mut commits = tokio::task::JoinSet::new();
    for number in 1..20 {
        let store = Arc::clone(&store);
        commits.spawn(async move { store.commit(create(id(number))).await });
    }
    for result in commits.join_all().await {
        let text = chain(&result.unwrap_err());
        assert!(text.contains("the database's disk is full: could not extend file (SQLSTATE 53100)"), "{text}");
    }
    place.psql("DROP TRIGGER full_disk ON operations").await;
    for number in 1..20 {
        commit_done(&*store, create(id(number))).await;
    }
}
