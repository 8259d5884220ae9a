//! How fast the store commits, reads, and rebuilds the engine's index: prints a table.
//!
//! `cargo bench -p usher-store --bench commit`; `FINISHED=5000000` sets how many finished operations lie beside the open ones.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a tool for developers

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use usher_engine::StreamId;
use usher_engine::ports::{Commit, OutboxChange, State, Store as _};
use usher_store::conformance::{commit_done, create, event, id, inbound, key, message, step};
use usher_store::{SqliteOptions, SqliteStore};

const OPEN: u64 = 100_000;
const EACH: Duration = Duration::from_secs(3);

/// As long as a handshake's state may well be.
fn state() -> State {
    State(format!(r#"{{"KeyHandshake":{{"token":"{}","expires_at":1763600000}}}}"#, "t".repeat(200)))
}

fn main() {
    let directory = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = directory.path().join("usher.db");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let open = || Arc::new(SqliteStore::open(&path, SqliteOptions::default()).unwrap());
    println!("one write and fsync: {:?} (median of 200)\n", fsync(directory.path()));

    println!("| committers | start calls/s | whole logins/s (3 commits each) |\n| --- | --- | --- |");
    let store = open();
    let next = Arc::new(AtomicU64::new(1));
    for committers in [1, 32, 256] {
        let starts = rate(&runtime, committers, &store, &next, start);
        let logins = rate(&runtime, committers, &store, &next, login);
        println!("| {committers} | {starts:.0} | {logins:.0} |");
    }
    fill(&runtime, &store, &next);
    let starts = rate(&runtime, 256, &store, &next, start);
    println!("| 256, beside {OPEN} open ones | {starts:.0} | |");

    println!("\n| readers | operation + events per second |\n| --- | --- |");
    for readers in [1, 32, 256] {
        println!("| {readers} | {:.0} |", rate(&runtime, readers, &store, &next, poll));
    }

    runtime.block_on(store.close());
    let finished = std::env::var("FINISHED").map_or(1_000_000, |number| number.parse().unwrap());
    add_finished(&path, finished);
    println!("\n| step | beside {finished} finished operations |\n| --- | --- |");
    let began = Instant::now();
    let store = open();
    println!("| open the database | {:?} |", began.elapsed());
    let began = Instant::now();
    let count = runtime.block_on(scan(&store));
    println!("| read {count} open operations, 1000 at a time | {:?} |", began.elapsed());
    println!("| start calls/s, 256 committers | {:.0} |", rate(&runtime, 256, &store, &next, start));
    let began = Instant::now();
    let removed = runtime.block_on(store.remove_finished(usher_engine::UnixMillis(u64::MAX), 10_000)).unwrap();
    println!("| remove {removed} finished operations | {:?} |", began.elapsed());
    runtime.block_on(store.close());
    println!("\nfile: {} MiB", std::fs::metadata(&path).unwrap().len() >> 20);
}

/// What a commit alone would cost.
fn fsync(directory: &Path) -> Duration {
    use std::io::Write as _;

    let mut file = std::fs::File::create(directory.join("probe")).unwrap();
    let mut times: Vec<_> = (0..200)
        .map(|_| {
            let began = Instant::now();
            file.write_all(&[7; 4_096]).unwrap();
            file.sync_data().unwrap();
            began.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[100]
}

async fn start(store: Arc<SqliteStore>, number: u64) {
    let commit = Commit { state: state(), claims: vec![key(&number.to_string())], ..create(id(number)) };
    commit_done(&*store, commit).await;
}

async fn login(store: Arc<SqliteStore>, number: u64) {
    start(Arc::clone(&store), number).await;
    let ask = Commit { state: state(), outbox: OutboxChange::Replace(vec![message(number)]), ..step(id(number), 1) };
    commit_done(&*store, ask).await;
    let answer = Commit {
        state: state(),
        finished: true,
        inbound: vec![inbound(number)],
        events: vec![event(number)],
        ..step(id(number), 2)
    };
    commit_done(&*store, answer).await;
}

async fn poll(store: Arc<SqliteStore>, number: u64) {
    let wanted = id(1 + number.wrapping_mul(7_919) % OPEN);
    std::hint::black_box(store.operation(wanted).await.unwrap());
    std::hint::black_box(store.events(wanted, 0, 1_000).await.unwrap());
}

/// Rounds of `work` per second with so many at a time.
fn rate<F: Future<Output = ()> + Send + 'static>(
    runtime: &Runtime,
    workers: u64,
    store: &Arc<SqliteStore>,
    next: &Arc<AtomicU64>,
    work: fn(Arc<SqliteStore>, u64) -> F,
) -> f64 {
    let done = Arc::new(AtomicU64::new(0));
    let began = Instant::now();
    runtime.block_on(async {
        let mut tasks = JoinSet::new();
        for _ in 0..workers {
            let (store, next, done) = (Arc::clone(store), Arc::clone(next), Arc::clone(&done));
            tasks.spawn(async move {
                while began.elapsed() < EACH {
                    work(Arc::clone(&store), next.fetch_add(1, Ordering::Relaxed)).await;
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        tasks.join_all().await;
    });
    done.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64()
}

/// Starts operations until so many are open.
fn fill(runtime: &Runtime, store: &Arc<SqliteStore>, next: &Arc<AtomicU64>) {
    let missing = OPEN.saturating_sub(runtime.block_on(scan(store)) as u64);
    runtime.block_on(async {
        for _ in 0..missing.div_ceil(512) {
            let mut tasks = JoinSet::new();
            for _ in 0..512 {
                tasks.spawn(start(Arc::clone(store), next.fetch_add(1, Ordering::Relaxed)));
            }
            tasks.join_all().await;
        }
    });
}

async fn scan(store: &SqliteStore) -> usize {
    let mut after: Option<StreamId> = None;
    let mut count = 0;
    loop {
        let page = store.open_operations(after, 1_000).await.unwrap();
        let Some(last) = page.last() else { return count };
        after = Some(last.id);
        count += page.len();
    }
}

/// Finished operations with an event each, spread among the open ones.
fn add_finished(path: &Path, count: u64) {
    let connection = rusqlite::Connection::open(path).unwrap();
    let script = format!(
        "PRAGMA synchronous = OFF;
         CREATE TEMP TABLE made (id BLOB);
         INSERT INTO made WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})
             SELECT CAST(substr((SELECT max(id) FROM operations), 1, 4) || randomblob(12) AS BLOB) FROM n;
         INSERT INTO operations SELECT id, 1, '{}', 3, 1, NULL, 0, x'', 1763600000000 FROM made ORDER BY id;
         INSERT INTO events SELECT id, 0, 'KeyHandshake', 1763600000000, '{{}}' FROM made ORDER BY id;",
        state().0
    );
    connection.execute_batch(&script).unwrap();
}
