//! Threads that read beside the writer.
//!
//! In WAL mode readers and the writer do not wait for each other. Dedicated threads, unlike tokio's blocking pool, need
//! no wake-up when the next query is already queued.

use std::io;
use std::thread::{self, JoinHandle};

use rusqlite::Connection;
use tokio::sync::mpsc;

use super::open::set_cache;
use super::thread_job::Message;
use crate::panic_signal::PanicSignal;

/// Most queries that share one snapshot; a longer one would block checkpoints of the log.
const MAX_BATCH: usize = 64;

pub(crate) struct ReaderQueues(Vec<mpsc::Sender<Message>>);

impl ReaderQueues {
    /// The queue with the fewest callers, which hold it until they have their result; the first of several. `None`
    /// without readers.
    pub(crate) fn pick(&self) -> Option<mpsc::Sender<Message>> {
        self.0.iter().min_by_key(|queue| queue.strong_count()).cloned()
    }
}

pub(crate) struct Readers {
    queues: Vec<mpsc::Sender<Message>>,
    threads: Vec<JoinHandle<()>>,
}

impl Readers {
    /// Starts a thread for each connection.
    ///
    /// # Errors
    /// What the operating system says when it gives no thread.
    pub(crate) fn start(
        connections: Vec<Connection>,
        cache_kib: u32,
        capacity: usize,
        panic_signal: &PanicSignal,
    ) -> io::Result<Self> {
        let mut readers = Self { queues: Vec::new(), threads: Vec::new() };
        for (number, connection) in connections.into_iter().enumerate() {
            let (sender, mut queue) = mpsc::channel(capacity);
            let thread = thread::Builder::new().name(format!("store-reader-{number}"));
            let guard = panic_signal.guard();
            let work = move || {
                let _guard = guard;
                // The first parses the schema at once, beside what the start does.
                let has_cache = number == 0 && set_cache(&connection, cache_kib).is_ok();
                run(&connection, has_cache, cache_kib, &mut queue);
            };
            readers.threads.push(thread.spawn(work)?);
            readers.queues.push(sender);
        }
        Ok(readers)
    }

    pub(crate) fn queues(&self) -> ReaderQueues {
        ReaderQueues(self.queues.clone())
    }

    /// Runs the queued queries and closes the connections. Blocking; not for async code.
    pub(crate) fn close(self) {
        for queue in self.queues {
            // An error means that it has already ended.
            drop(queue.blocking_send(Message::Close));
        }
        for thread in self.threads {
            if thread.join().is_err() {
                tracing::error!("a reader thread of the database panicked");
            }
        }
    }
}

/// Reads until it is closed (or every sender is dropped) and the queue is empty.
fn run(connection: &Connection, mut has_cache: bool, cache_kib: u32, queue: &mut mpsc::Receiver<Message>) {
    let mut messages = Vec::with_capacity(MAX_BATCH);
    while queue.blocking_recv_many(&mut messages, MAX_BATCH) > 0 {
        // It parses the schema, as the first query does: if one fails, so does the other.
        has_cache = has_cache || set_cache(connection, cache_kib).is_ok();
        // One snapshot for all waiting queries, taken after they were queued: each sees everything committed before it.
        // If this fails, each query has its own snapshot.
        let shared = messages.len() > 1 && execute(connection, "BEGIN");
        for message in messages.drain(..) {
            match message {
                Message::Run(job) if job.abandoned() => drop(job),
                Message::Run(mut job) => {
                    let outcome = job.run(connection);
                    job.settle(outcome);
                }
                Message::Close => queue.close(),
            }
        }
        if shared && !execute(connection, "COMMIT") {
            execute(connection, "ROLLBACK");
        }
    }
}

fn execute(connection: &Connection, sql: &str) -> bool {
    connection.prepare_cached(sql).and_then(|mut statement| statement.execute([])).is_ok()
}
