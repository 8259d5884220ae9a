//! Jobs of a database thread, and their results.

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};
use usher_engine::ports::{AllCommitted, Commit, StoreError};

use super::execute::{run_all, run_each};
use super::failure::SqliteFailure;
use crate::codec::Unreadable;
use crate::commit::Plan;

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

    /// Itself, if it is commits of operations, which one plan executes together with those of other jobs.
    fn as_commits(&mut self) -> Option<&mut CommitJob> {
        None
    }
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

/// Commits of operations.
pub(crate) struct CommitJob {
    commits: Vec<Commit>,
    /// Set once it is decided.
    result: Option<Result<AllCommitted, Unreadable>>,
    answer: oneshot::Sender<Result<AllCommitted, StoreError>>,
}

impl CommitJob {
    /// A job, and where its result arrives.
    pub(crate) fn new(commits: Vec<Commit>) -> (Self, oneshot::Receiver<Result<AllCommitted, StoreError>>) {
        let (answer, result) = oneshot::channel();
        (Self { commits, result: None, answer }, result)
    }

    /// Decides these jobs in their order, and writes their changes.
    pub(crate) fn run_all(connection: &Connection, jobs: &mut [&mut Self]) -> Result<(), SqliteFailure> {
        let reads = Plan::reads(&jobs.iter().flat_map(|job| &job.commits).collect::<Vec<_>>());
        let mut plan = Plan::new(&run_all(connection, &reads)?)?;
        for job in jobs {
            job.result = Some(plan.apply(&job.commits));
        }
        run_each(connection, &plan.writes())
    }
}

impl Job for CommitJob {
    fn run(&mut self, connection: &Connection) -> Result<(), SqliteFailure> {
        Self::run_all(connection, &mut [self])
    }

    fn settle(self: Box<Self>, outcome: Result<(), SqliteFailure>) {
        let answer = match outcome {
            Ok(()) => self.result.map_or(Err(StoreError::Closed), |result| Ok(result?)),
            Err(failure) => Err(failure.into()),
        };
        drop(self.answer.send(answer));
    }

    fn abandoned(&self) -> bool {
        self.answer.is_closed()
    }

    fn as_commits(&mut self) -> Option<&mut CommitJob> {
        Some(self)
    }
}

/// Queues commits of operations; see [`run`].
pub(crate) async fn commit(queue: &mpsc::Sender<Message>, commits: Vec<Commit>) -> Result<AllCommitted, StoreError> {
    let (job, result) = CommitJob::new(commits);
    send(queue, job).await?;
    result.await.map_err(|_| StoreError::Closed)?
}

/// Queues `work` for the thread behind `queue` and waits for its result.
///
/// Once queued it is executed, even if the returned future is dropped.
pub(crate) async fn run<T: Send + 'static>(
    queue: &mpsc::Sender<Message>,
    work: impl FnMut(&Connection) -> Result<T, SqliteFailure> + Send + 'static,
) -> Result<T, StoreError> {
    let (answer, result) = oneshot::channel();
    send(queue, Task { work, result: None, answer }).await?;
    result.await.map_err(|_| StoreError::Closed)?
}

async fn send(queue: &mpsc::Sender<Message>, job: impl Job + 'static) -> Result<(), StoreError> {
    queue.send(Message::Run(Box::new(job))).await.map_err(|_| StoreError::Closed)
}
