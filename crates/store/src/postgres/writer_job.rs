//! Jobs of the writer, and their results.

use tokio::sync::{mpsc, oneshot};
use usher_engine::ports::{AllCommitted, Commit, StoreError};

use super::failure::PostgresFailure;
use crate::codec::Unreadable;
use crate::row::Answer;
use crate::statement::Query;

pub(super) enum Message {
    Run(Job),
    /// Accept no more jobs, finish the queued ones, and end.
    Close,
}

/// A job, whose caller may be waiting for the result. It can be retried after a rollback.
pub(super) enum Job {
    /// Commits of operations, which share reads and writes with others.
    Commit(CommitJob),
    /// Statements without a decision, which share a transaction with others.
    Statements(StatementsJob),
    /// Reads, a decision and writes, in their own transaction.
    Decision(Box<dyn DecisionJob>),
}

pub(super) struct CommitJob {
    pub(super) commits: Vec<Commit>,
    /// Set once it is decided.
    pub(super) result: Option<Result<AllCommitted, Unreadable>>,
    pub(super) answer: oneshot::Sender<Result<AllCommitted, StoreError>>,
}

pub(super) struct StatementsJob {
    pub(super) queries: Vec<Query>,
    pub(super) answer: oneshot::Sender<Result<Vec<Answer>, StoreError>>,
    /// Whether the caller ignores the results.
    pub(super) is_blind: bool,
}

pub(super) trait DecisionJob: Send {
    /// The queries to run first.
    fn reads(&self) -> &[Query];

    /// Decides what is written, and keeps the result.
    fn decide(&mut self, read: &[Answer]) -> Result<Vec<Query>, Unreadable>;

    fn settle(self: Box<Self>, outcome: Result<(), PostgresFailure>);
}

pub(super) enum Outcome {
    /// Committed, with these answers.
    Committed(Vec<Answer>),
    /// Committed; the answers were lost with the connection.
    CommittedUnseen,
}

struct Decision<W, T> {
    reads: Vec<Query>,
    decide: W,
    result: Option<T>,
    answer: oneshot::Sender<Result<T, StoreError>>,
}

impl<W, T> DecisionJob for Decision<W, T>
where
    W: FnMut(&[Answer]) -> Result<(T, Vec<Query>), Unreadable> + Send,
    T: Send,
{
    fn reads(&self) -> &[Query] {
        &self.reads
    }

    fn decide(&mut self, read: &[Answer]) -> Result<Vec<Query>, Unreadable> {
        let (result, writes) = (self.decide)(read)?;
        self.result = Some(result);
        Ok(writes)
    }

    fn settle(self: Box<Self>, outcome: Result<(), PostgresFailure>) {
        let answer = match outcome {
            Ok(()) => self.result.ok_or(StoreError::Closed),
            Err(failure) => Err(failure.into()),
        };
        // The caller may be gone; the work is done anyway.
        drop(self.answer.send(answer));
    }
}

impl Job {
    pub(super) fn fail(self, failure: &PostgresFailure) {
        match self {
            Self::Commit(job) => drop(job.answer.send(Err(failure.clone().into()))),
            Self::Statements(job) => drop(job.answer.send(Err(failure.clone().into()))),
            Self::Decision(job) => job.settle(Err(failure.clone())),
        }
    }
}

/// The writer's queue. Queued jobs are executed even if the returned future is dropped.
#[derive(Clone)]
pub(super) struct WriterQueue(pub(super) mpsc::Sender<Message>);

impl WriterQueue {
    pub(super) async fn commit(&self, commits: Vec<Commit>) -> Result<AllCommitted, StoreError> {
        let (answer, result) = oneshot::channel();
        self.send(Job::Commit(CommitJob { commits, result: None, answer })).await?;
        result.await.map_err(|_| StoreError::Closed)?
    }

    pub(super) async fn statements(&self, queries: Vec<Query>) -> Result<Vec<Answer>, StoreError> {
        self.run_statements(queries, false).await
    }

    /// Runs statements without results.
    pub(super) async fn blind(&self, queries: Vec<Query>) -> Result<(), StoreError> {
        self.run_statements(queries, true).await.map(drop)
    }

    async fn run_statements(&self, queries: Vec<Query>, is_blind: bool) -> Result<Vec<Answer>, StoreError> {
        let (answer, result) = oneshot::channel();
        self.send(Job::Statements(StatementsJob { queries, answer, is_blind })).await?;
        result.await.map_err(|_| StoreError::Closed)?
    }

    /// Reads, then writes the statements that `decide` returns.
    pub(super) async fn decision<T: Send + 'static>(
        &self,
        reads: Vec<Query>,
        decide: impl FnMut(&[Answer]) -> Result<(T, Vec<Query>), Unreadable> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, result) = oneshot::channel();
        self.send(Job::Decision(Box::new(Decision { reads, decide, result: None, answer }))).await?;
        result.await.map_err(|_| StoreError::Closed)?
    }

    async fn send(&self, job: Job) -> Result<(), StoreError> {
        self.0.send(Message::Run(job)).await.map_err(|_| StoreError::Closed)
    }
}
