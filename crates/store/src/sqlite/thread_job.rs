//! Jobs of a database thread, and their results.

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};
use usher_engine::ports::StoreError;

use super::failure::SqliteFailure;

pub(crate) enum Message {
    Run(Box<dyn Job>),
    /// Accept no more jobs, finish the queued ones, and end.
    Close,
}

/// A job, whose caller may be waiting for the result.
pub(crate) trait Job: Send {
    /// Runs it and keeps the result. May be called again after a rollback.
    fn run(&mut self, connection: &Connection) -> Result<(), SqliteFailure>;

    fn settle(self: Box<Self>, outcome: Result<(), SqliteFailure>);

    /// Whether no caller waits for the result.
    fn abandoned(&self) -> bool;
}

struct Task<W, T> {
    work: W,
    result: Option<T>,
    answer: oneshot::Sender<Result<T, StoreError>>,
}

impl<W, T> Job for Task<W, T>
where
    W: FnMut(&Connection) -> Result<T, SqliteFailure> + Send,
    T: Send,
{
    fn run(&mut self, connection: &Connection) -> Result<(), SqliteFailure> {
        self.result = Some((self.work)(connection)?);
        Ok(())
    }

    fn settle(self: Box<Self>, outcome: Result<(), SqliteFailure>) {
        let answer = match outcome {
            Ok(()) => self.result.ok_or(StoreError::Closed),
            Err(failure) => Err(failure.into()),
        };
        // The caller may be gone; the work is done anyway.
        drop(self.answer.send(answer));
    }

    fn abandoned(&self) -> bool {
        self.answer.is_closed()
    }
}

/// Queues `work` for the thread behind `queue` and waits for its result.
///
/// Once queued it is executed, even if the returned future is dropped.
pub(crate) async fn run<T: Send + 'static>(
    queue: &mpsc::Sender<Message>,
    work: impl FnMut(&Connection) -> Result<T, SqliteFailure> + Send + 'static,
) -> Result<T, StoreError> {
    let (answer, result) = oneshot::channel();
    let job = Box::new(Task { work, result: None, answer });
    queue.send(Message::Run(job)).await.map_err(|_| StoreError::Closed)?;
    result.await.map_err(|_| StoreError::Closed)?
}
