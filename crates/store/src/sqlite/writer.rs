//! The one thread that writes: what waits is committed together.
//!
//! A commit is as durable as the `fsync` behind it, and that takes far longer than the writing itself. So while one
//! `fsync` runs, the next commits gather in the queue, and then share one transaction and one `fsync`.

use rusqlite::Connection;
use tokio::sync::mpsc;

use super::failure::{During as _, SqliteFailure};
use super::job::{Job, Message};

/// Writes until told to close (or every sender is gone) and the queue is empty.
pub(crate) fn run(connection: &Connection, queue: &mut mpsc::Receiver<Message>, max_batch: usize) {
    let mut messages = Vec::with_capacity(max_batch);
    while queue.blocking_recv_many(&mut messages, max_batch) > 0 {
        let mut batch = Vec::with_capacity(messages.len());
        for message in messages.drain(..) {
            match message {
                Message::Run(job) => batch.push(job),
                Message::Close => queue.close(),
            }
        }
        commit(connection, batch);
    }
}

/// Commits a batch and answers everybody in it.
///
/// A job that fails takes nobody with it: what came before it, the job, and what came after it are tried again each
/// for itself, in this order.
fn commit(connection: &Connection, batch: Vec<Box<dyn Job>>) {
    let mut parts = vec![batch];
    while let Some(mut part) = parts.pop() {
        match attempt(connection, &mut part) {
            Ok(()) => settle(part, &Ok(())),
            Err(Failed::Job(index, _)) if part.len() > 1 => {
                let mut rest = part.split_off(index);
                parts.push(rest.split_off(1));
                parts.push(rest);
                parts.push(part);
            }
            Err(Failed::Job(_, failure) | Failed::Transaction(failure)) => settle(part, &Err(failure)),
        }
    }
}

enum Failed {
    /// The job with this index.
    Job(usize, SqliteFailure),
    /// Beginning or committing: it concerns them all.
    Transaction(SqliteFailure),
}

/// One transaction with all of the jobs in it; rolled back when it fails.
fn attempt(connection: &Connection, jobs: &mut [Box<dyn Job>]) -> Result<(), Failed> {
    if jobs.is_empty() {
        return Ok(());
    }
    let result = transact(connection, jobs);
    // After some errors (disk full, input/output) SQLite has rolled back by itself.
    if result.is_err() && !connection.is_autocommit() {
        // Should this fail too, the next BEGIN does, and so says every commit until the file works again.
        if let Err(error) = execute(connection, "ROLLBACK", "roll back a transaction") {
            tracing::error!(error = &error as &dyn std::error::Error, "a transaction could not be rolled back");
        }
    }
    result
}

fn transact(connection: &Connection, jobs: &mut [Box<dyn Job>]) -> Result<(), Failed> {
    if !connection.is_autocommit() {
        execute(connection, "ROLLBACK", "roll back a transaction").map_err(Failed::Transaction)?;
    }
    execute(connection, "BEGIN IMMEDIATE", "begin a transaction").map_err(Failed::Transaction)?;
    for (index, job) in jobs.iter_mut().enumerate() {
        job.run(connection).map_err(|failure| Failed::Job(index, failure))?;
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
