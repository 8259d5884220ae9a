//! Threads that read beside the writer.
//!
//! In WAL mode readers and the writer do not wait for each other. Threads of their own, rather than tokio's blocking
//! pool, since a thread that finds the next query already waiting need not be woken for it.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;
use tokio::sync::mpsc;

use super::thread_job::Message;
use crate::panic_signal::PanicSignal;

/// Most queries that share one snapshot. Longer would keep the log from being checkpointed.
const MAX_BATCH: usize = 64;

/// The queues in front of the readers.
pub(crate) struct ReaderQueues {
    queues: Vec<mpsc::Sender<Message>>,
    next: AtomicUsize,
}

impl ReaderQueues {
    /// The queue whose turn it is; none when there are no readers.
    pub(crate) fn pick(&self) -> Option<&mpsc::Sender<Message>> {
        let turn = self.next.fetch_add(1, Ordering::Relaxed).checked_rem(self.queues.len())?;
        self.queues.get(turn)
    }
}

/// The threads.
pub(crate) struct Readers {
    queues: Vec<mpsc::Sender<Message>>,
    threads: Vec<JoinHandle<()>>,
}

impl Readers {
    /// Starts a thread for each connection.
    ///
    /// # Errors
    /// What the operating system says when it gives no thread.
    pub(crate) fn start(connections: Vec<Connection>, capacity: usize, panic_signal: &PanicSignal) -> io::Result<Self> {
        let mut readers = Self { queues: Vec::new(), threads: Vec::new() };
        for (number, connection) in connections.into_iter().enumerate() {
            let (sender, mut queue) = mpsc::channel(capacity);
            let thread = thread::Builder::new().name(format!("store-reader-{number}"));
            let guard = panic_signal.guard();
            let work = move || {
                let _guard = guard;
                run(&connection, &mut queue);
            };
            readers.threads.push(thread.spawn(work)?);
            readers.queues.push(sender);
        }
        Ok(readers)
    }

    /// Queues in front of them.
    pub(crate) fn queues(&self) -> ReaderQueues {
        ReaderQueues { queues: self.queues.clone(), next: AtomicUsize::new(0) }
    }

    /// Runs the queued queries and closes the connections. Blocks: not for asynchronous code.
    pub(crate) fn close(self) {
        for queue in self.queues {
            // An error means that it has ended already.
            drop(queue.blocking_send(Message::Close));
        }
        for thread in self.threads {
            if thread.join().is_err() {
                tracing::error!("a reader thread of the database panicked");
            }
        }
    }
}

/// Reads until it is closed (or every sender is gone) and the queue is empty.
fn run(connection: &Connection, queue: &mut mpsc::Receiver<Message>) {
    let mut messages = Vec::with_capacity(MAX_BATCH);
    while queue.blocking_recv_many(&mut messages, MAX_BATCH) > 0 {
        // One snapshot for all waiting queries, taken after they were queued: each sees everything committed before it.
        // Where this fails the queries still work, each with a snapshot of its own.
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
