//! The single writer thread: waiting commits share one transaction.
//!
//! A durable commit needs an `fsync`, which takes far longer than the writing itself. While one `fsync` runs, the next
//! commits collect in the queue, and then share one transaction and one `fsync`. Commits of operations also share one
//! plan: rows that several depend on or change, such as the end of the audit log, are read and written once.

use std::time::Instant;

use rusqlite::Connection;
use tokio::sync::mpsc;

use super::failure::{During as _, SqliteFailure};
use super::thread_job::{CommitJob, Job, Message};
use crate::metrics::Metrics;

/// Writes until it is closed (or every sender is dropped) and the queue is empty.
pub(crate) fn run(connection: &Connection, queue: &mut mpsc::Receiver<Message>, max_batch: usize, metrics: &Metrics) {
    let mut messages = Vec::with_capacity(max_batch);
    while queue.blocking_recv_many(&mut messages, max_batch) > 0 {
        fail::fail_point!("store-writer");
        let mut batch = Vec::with_capacity(messages.len());
        for message in messages.drain(..) {
            match message {
                Message::Run(job) => batch.push(job),
                Message::Close => queue.close(),
            }
        }
        commit(connection, batch, metrics);
    }
}

/// Commits a batch and sends each caller its result.
///
/// A failed job does not affect the others: the jobs before it, the job, and the jobs after it are retried separately,
/// in this order. If a shared plan fails, each job first gets its own.
fn commit(connection: &Connection, batch: Vec<Box<dyn Job>>, metrics: &Metrics) {
    let is_shared = batch.len() > 1;
    let mut parts = vec![(batch, is_shared)];
    while let Some((mut part, is_shared)) = parts.pop() {
        match attempt(connection, &mut part, is_shared, metrics) {
            Ok(()) => settle(part, &Ok(())),
            Err(Failed::SharedPlan) => parts.push((part, false)),
            Err(Failed::Job(index, _)) if part.len() > 1 => {
                let mut rest = part.split_off(index);
                parts.push((rest.split_off(1), false));
                parts.push((rest, false));
                parts.push((part, false));
            }
            Err(Failed::Job(_, failure) | Failed::Transaction(failure)) => settle(part, &Err(failure)),
        }
    }
}

enum Failed {
    SharedPlan,
    Job(usize, SqliteFailure),
    /// Beginning or committing failed, which affects all jobs.
    Transaction(SqliteFailure),
}

/// One transaction for all jobs; rolled back if it fails.
fn attempt(
    connection: &Connection,
    jobs: &mut [Box<dyn Job>],
    is_shared: bool,
    metrics: &Metrics,
) -> Result<(), Failed> {
    if jobs.is_empty() {
        return Ok(());
    }
    let started = Instant::now();
    let result = transact(connection, jobs, is_shared);
    match result {
        Ok(()) => metrics.committed(jobs.len(), started.elapsed()),
        Err(_) => metrics.failed(),
    }
    // After some errors (disk full, input/output) SQLite has already rolled back.
    if result.is_err() && !connection.is_autocommit() {
        // If this fails too, so does the next BEGIN, and every commit until the file works again.
        if let Err(error) = execute(connection, "ROLLBACK", "roll back a transaction") {
            tracing::error!(error = &error as &dyn std::error::Error, "a transaction could not be rolled back");
        }
    }
    result
}

/// With `is_shared`, all commits of operations have one plan, and come first.
fn transact(connection: &Connection, jobs: &mut [Box<dyn Job>], is_shared: bool) -> Result<(), Failed> {
    if !connection.is_autocommit() {
        execute(connection, "ROLLBACK", "roll back a transaction").map_err(Failed::Transaction)?;
    }
    execute(connection, "BEGIN IMMEDIATE", "begin a transaction").map_err(Failed::Transaction)?;
    if is_shared {
        let mut commits: Vec<_> = jobs.iter_mut().filter_map(|job| job.as_commits()).collect();
        CommitJob::run_all(connection, &mut commits).map_err(|_retried| Failed::SharedPlan)?;
    }
    for (index, job) in jobs.iter_mut().enumerate() {
        if !is_shared || job.as_commits().is_none() {
            job.run(connection).map_err(|failure| Failed::Job(index, failure))?;
        }
    }
    execute(connection, "COMMIT", "commit a transaction").map_err(Failed::Transaction)
}

fn execute(connection: &Connection, sql: &str, during: &'static str) -> Result<(), SqliteFailure> {
    connection.prepare_cached(sql).and_then(|mut statement| statement.execute([])).during(during).map(|_| ())
}

fn settle(jobs: Vec<Box<dyn Job>>, outcome: &Result<(), SqliteFailure>) {
    for job in jobs {
        job.settle(outcome.clone());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;
    use usher_engine::ports::{AllCommitted, Commit, OperationKind, Revision, State};
    use usher_engine::{StreamId, UnixMillis};

    use super::*;
    use crate::sqlite::file::DatabaseFile;
    use crate::sqlite::{SqliteOptions, open};

    /// Inserts `number`, and records its result and the order of the results.
    struct Insert {
        number: i64,
        answers: Arc<Mutex<Vec<(i64, bool)>>>,
    }

    impl Job for Insert {
        fn run(&mut self, connection: &Connection) -> Result<(), SqliteFailure> {
            // A partial write precedes the failure.
            connection.execute("INSERT INTO first VALUES (?1)", [self.number]).during("insert")?;
            connection.execute("INSERT INTO second VALUES (?1)", [self.number]).during("insert").map(|_| ())
        }

        fn settle(self: Box<Self>, outcome: Result<(), SqliteFailure>) {
            self.answers.lock().push((self.number, outcome.is_ok()));
        }

        fn abandoned(&self) -> bool {
            false
        }
    }

    /// The results in their order, and the stored rows.
    fn commit_all(schema: &str, numbers: &[i64]) -> (Vec<(i64, bool)>, Vec<i64>) {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(schema).unwrap();
        let answers = Arc::default();
        let job = |number: &i64| Box::new(Insert { number: *number, answers: Arc::clone(&answers) }) as Box<dyn Job>;
        commit(&connection, numbers.iter().map(job).collect(), &Metrics::default());
        assert!(connection.is_autocommit());
        let mut statement = connection.prepare("SELECT x FROM first ORDER BY rowid").unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
        (std::mem::take(&mut *answers.lock()), rows)
    }

    const POSITIVE: &str = "CREATE TABLE first (x); CREATE TABLE second (x CHECK (x > 0));";

    #[test]
    fn failed_job_does_not_affect_others_in_the_batch() {
        for numbers in [&[1, 2, 3][..], &[-1], &[-1, 2], &[1, -2], &[1, -2, 3, -4, 5, 6, -7], &[-1, -2, -3], &[]] {
            let (answers, rows) = commit_all(POSITIVE, numbers);
            let expected: Vec<_> = numbers.iter().map(|number| (*number, *number > 0)).collect();
            assert_eq!(answers, expected, "in order of the queue");
            assert_eq!(rows, numbers.iter().copied().filter(|number| *number > 0).collect::<Vec<_>>());
        }
    }

    #[test]
    fn failed_commit_of_an_operation_does_not_affect_those_in_the_same_plan() {
        let folder = tempfile::tempdir().unwrap();
        let file = DatabaseFile::claim(&folder.path().join("usher.db")).unwrap();
        let connection = open::writer(&file, &SqliteOptions::default()).unwrap();
        let trigger = "CREATE TRIGGER refuses BEFORE INSERT ON operations WHEN NEW.state = '2'
            BEGIN SELECT RAISE(ABORT, 'refused'); END";
        connection.execute_batch(trigger).unwrap();
        let commit_of = |number: u8| {
            let stream = StreamId::from_bytes([number; 16]);
            Commit::of(stream, OperationKind::Login, Revision::New, UnixMillis(1), State(number.to_string()))
        };
        // The last one conflicts with the first.
        let batch = [vec![commit_of(1)], vec![commit_of(3), commit_of(2)], vec![commit_of(4)], vec![commit_of(1)]];
        let (jobs, answers): (Vec<_>, Vec<_>) = batch.map(CommitJob::new).into_iter().unzip();
        let jobs = jobs.into_iter().map(|job| Box::new(job) as Box<dyn Job>).collect();
        commit(&connection, jobs, &Metrics::default());
        let outcomes = answers.into_iter().map(|mut answer| match answer.try_recv().unwrap() {
            Ok(AllCommitted::Done(_)) => "done",
            Ok(AllCommitted::Conflict(_)) => "conflict",
            Err(_) => "failed",
        });
        assert_eq!(outcomes.collect::<Vec<_>>(), ["done", "failed", "done", "conflict"]);
        let mut statement = connection.prepare("SELECT state FROM operations WHERE kind <> 0 ORDER BY id").unwrap();
        let stored = statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<Vec<String>, _>>().unwrap();
        assert_eq!(stored, ["1", "4"]);
    }

    #[test]
    fn failed_commit_fails_the_whole_batch() {
        // A deferred constraint is checked by COMMIT.
        let deferred = "PRAGMA foreign_keys = ON; CREATE TABLE parent (id INTEGER PRIMARY KEY);
            INSERT INTO parent VALUES (1), (2); CREATE TABLE first (x);
            CREATE TABLE second (x REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED);";
        assert_eq!(commit_all(deferred, &[1, 2]), (vec![(1, true), (2, true)], vec![1, 2]));
        assert_eq!(commit_all(deferred, &[1, 9, 2]), (vec![(1, false), (9, false), (2, false)], vec![]));
    }

    #[test]
    fn open_transaction_is_rolled_back() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(POSITIVE).unwrap();
        connection.execute_batch("BEGIN; INSERT INTO first VALUES (7)").unwrap();
        let answers = Arc::default();
        commit(&connection, vec![Box::new(Insert { number: 1, answers: Arc::clone(&answers) })], &Metrics::default());
        assert_eq!(*answers.lock(), [(1, true)]);
        let rows: i64 = connection.query_row("SELECT count(*) FROM first", [], |row| row.get(0)).unwrap();
        assert_eq!(rows, 1);
    }
}
