//! The single writer: waiting commits share one transaction, and one round trip.
//!
//! A commit takes a round trip to the database and its disk; meanwhile the next commits collect in the queue. The rows
//! that a group depends on are read at once; its commits are decided in memory, one after the other; then one
//! transaction writes the changes, in one round trip from BEGIN to COMMIT. The rows of the next group are read in the
//! same round trip, after the COMMIT, so under load each group takes one. Reading outside the transaction is safe,
//! because nobody else writes: the first statement of the transaction enforces it.
//!
//! # When the response to COMMIT is lost
//!
//! The transaction may be committed, still running, or not yet received. A new connection increments the *session* in
//! the row of the lease. This waits for a running transaction, which has locked the row, and makes the database refuse
//! one that arrives later. Each transaction also writes the number of its group, which then shows the outcome. Until it
//! is known, nothing else is written, and reads wait. After a time limit, the callers get an error. If the transaction then proves
//! to be committed, the service has to start again, because its memory lacks what was committed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};
use usher_engine::ports::StoreError;

use super::failure::PostgresFailure;
use super::open_error::PostgresOpenError;
use super::options::Address;
use super::schema::{self, Migration};
use super::session::{Session, TransactionFailure};
use super::writer_job::{DecisionJob, Job, Message, Outcome};
use super::{inspect, lease};
use crate::commit::Plan;
use crate::metrics::Metrics;
use crate::row::Answer;
use crate::statement::{Query, params};

/// The first pause between attempts to determine the outcome of a commit; each is twice as long as the previous one.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// After so many jobs of a group that each took too long alone, the others would, too, and are not tried.
const MAX_SLOW: u32 = 4;

/// Checks the lease, and stores the number of the group.
pub(super) const BEGIN_WRITE: &str = "SELECT begin_write($1, $2, $3)";

const NEW_SESSION: &str =
    "WITH held AS (SELECT epoch FROM lease WHERE epoch = $1 AND expires_at > clock_timestamp() FOR UPDATE)
    UPDATE lease SET session = session + 1 FROM held WHERE lease.epoch = held.epoch RETURNING session";

/// A separate statement after that one, so that it sees what was committed while that one waited.
const LAST_WRITTEN: &str = "SELECT coalesce(max(number), 0) FROM written WHERE epoch = $1";

/// Whether reads reflect every acknowledged commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Certainty {
    /// They do.
    Certain,
    /// The outcome of a commit is being determined.
    Doubtful,
    /// The lease ended while it was unknown; or the commit had happened although its callers got an error, so that their
    /// memory lacks it. The store does no more.
    Over,
}

/// A connection that may write, and its epoch and session.
struct Writing {
    session: Session,
    number: i64,
}

/// Begins transactions on a connection outside a [`Writer`].
pub(super) struct BeginWrite {
    epoch: i64,
    number: i64,
    group: i64,
}

impl BeginWrite {
    /// The statements that begin the next transaction, with the check of the lease.
    pub(super) fn next(&mut self) -> String {
        self.group = self.group.saturating_add(1);
        format!("BEGIN; SELECT begin_write({}, {}, {})", self.epoch, self.number, self.group)
    }
}

/// Jobs taken from the queue together.
#[derive(Default)]
struct Group {
    /// Jobs in the shared transaction.
    shared: Vec<Job>,
    /// The rows that their commits depend on, if already read.
    read: Option<Vec<Answer>>,
    /// Each runs afterwards in its own transaction.
    decisions: Vec<Box<dyn DecisionJob>>,
}

impl Group {
    fn is_empty(&self) -> bool {
        self.shared.is_empty() && self.decisions.is_empty()
    }

    fn add(&mut self, message: Message, queue: &mut mpsc::Receiver<Message>) {
        match message {
            Message::Run(Job::Decision(job)) => self.decisions.push(job),
            Message::Run(job) => self.shared.push(job),
            Message::Close => queue.close(),
        }
    }
}

pub(super) struct Writer {
    address: Address,
    epoch: i64,
    writing: Option<Writing>,
    /// The number of the last group of commits.
    group: i64,
    /// The group whose callers got the error that its outcome is unknown.
    unknown: Option<i64>,
    max_batch: usize,
    outcome_timeout: Duration,
    metrics: Arc<Metrics>,
    certainty: watch::Sender<Certainty>,
}

impl Writer {
    /// A writer under this epoch, not yet connected.
    pub(super) fn new(
        address: Address,
        epoch: u64,
        max_batch: usize,
        outcome_timeout: Duration,
        metrics: Arc<Metrics>,
    ) -> Self {
        let certainty = watch::Sender::new(Certainty::Certain);
        let epoch = lease::number(epoch);
        Self { address, epoch, writing: None, group: 0, unknown: None, max_batch, outcome_timeout, metrics, certainty }
    }

    /// Whether reads are certain.
    pub(super) fn certainty(&self) -> watch::Receiver<Certainty> {
        self.certainty.subscribe()
    }

    /// Connects, with a new session.
    ///
    /// # Errors
    /// [`PostgresFailure::NotActive`], [`PostgresFailure::Connect`] and the like.
    pub(super) async fn connect(&mut self) -> Result<(), PostgresFailure> {
        self.writing = None;
        let session = Session::connect(&self.address).await?;
        let renewed = session.one(&Query::new("begin to write", NEW_SESSION, params![self.epoch])).await?;
        let number = renewed.first(|row| row.int(0))?.ok_or(PostgresFailure::NotActive)?;
        let last = session.one(&Query::new("begin to write", LAST_WRITTEN, params![self.epoch])).await?;
        self.group = last.first(|row| row.int(0))?.unwrap_or_default();
        if self.unknown == Some(self.group) {
            tracing::error!("a commit whose outcome was unknown for too long had happened: the service starts again");
            self.certainty.send_replace(Certainty::Over);
            return Err(PostgresFailure::NotActive);
        }
        self.unknown = None;
        self.writing = Some(Writing { session, number });
        self.certainty.send_replace(Certainty::Certain);
        Ok(())
    }

    /// Refuses a moved database and an unfinished copy.
    pub(super) async fn check_mark(&self) -> Result<(), PostgresOpenError> {
        let writing = self.writing.as_ref().ok_or(PostgresFailure::NotActive)?;
        match inspect::copy_mark(&writing.session).await? {
            Some(mark) => Err(PostgresOpenError::Marked(mark)),
            None => Ok(()),
        }
    }

    /// The connection, for sequential transactions, and the statements that begin each.
    pub(super) fn into_connection(self) -> Option<(Session, BeginWrite)> {
        let Writing { session, number } = self.writing?;
        Some((session, BeginWrite { epoch: self.epoch, number, group: self.group }))
    }

    /// Runs the missing migrations.
    pub(super) async fn migrate(&mut self, migrations: &[Migration]) -> Result<(), PostgresOpenError> {
        let writing = self.writing.as_ref().ok_or(PostgresFailure::NotActive)?;
        schema::prepare(&writing.session).await?;
        for migration in schema::missing(&writing.session, migrations).await? {
            self.group = self.group.saturating_add(1);
            let begin = format!("SELECT begin_write({}, {}, {})", self.epoch, writing.number, self.group);
            schema::apply(&writing.session, &begin, migration).await?;
        }
        Ok(())
    }

    /// Writes until it is closed (or every sender is dropped) and the queue is empty.
    pub(super) async fn run(mut self, mut queue: mpsc::Receiver<Message>) {
        let mut messages = Vec::with_capacity(self.max_batch);
        let mut next = Group::default();
        loop {
            if next.is_empty() {
                if self.receive(&mut queue, &mut messages).await == 0 {
                    break;
                }
                messages.drain(..).for_each(|message| next.add(message, &mut queue));
            }
            let Group { shared, read, decisions } = std::mem::take(&mut next);
            // A decision before the next group must not change the rows read for it.
            let ahead = decisions.is_empty().then_some(&mut queue);
            next = self.commit(shared, read, ahead).await;
            for job in decisions {
                self.decide(job).await;
            }
        }
        if let Some(writing) = self.writing.take() {
            writing.session.close().await;
        }
    }

    /// Waits for jobs. While the outcome of a commit is unknown, it also tries to connect, because reads wait for it.
    async fn receive(&mut self, queue: &mut mpsc::Receiver<Message>, messages: &mut Vec<Message>) -> usize {
        loop {
            let received = queue.recv_many(messages, self.max_batch);
            if *self.certainty.borrow() != Certainty::Doubtful {
                return received.await;
            }
            if let Ok(received) = tokio::time::timeout(MAX_PAUSE, received).await {
                return received;
            }
            if let Err(PostgresFailure::NotActive) = self.connect().await {
                self.certainty.send_replace(Certainty::Over);
            }
        }
    }

    /// Commits jobs in a shared transaction, and sends each caller its result. If it fails, each job is retried alone.
    /// Returns the group taken from `queue` meanwhile.
    async fn commit(
        &mut self,
        mut jobs: Vec<Job>,
        read: Option<Vec<Answer>>,
        queue: Option<&mut mpsc::Receiver<Message>>,
    ) -> Group {
        let mut next = Group::default();
        if jobs.is_empty() {
            return next;
        }
        match self.attempt(&mut jobs, read, queue, &mut next).await {
            Ok(outcome) => settle(jobs, outcome),
            Err(failure) if failure.concerns_one() && jobs.len() > 1 => {
                let mut slow: u32 = 0;
                for job in jobs {
                    let mut alone = vec![job];
                    let outcome = if slow < MAX_SLOW {
                        self.attempt(&mut alone, None, None, &mut Group::default()).await
                    } else {
                        Err(failure.clone())
                    };
                    match outcome {
                        Ok(outcome) => settle(alone, outcome),
                        Err(failure) => {
                            slow += u32::from(failure.took_too_long());
                            fail(alone, &failure);
                        }
                    }
                }
            }
            Err(failure) => fail(jobs, &failure),
        }
        next
    }

    /// One transaction. Jobs queued before it is sent become the `next` group, whose rows are read in the same round
    /// trip, after the COMMIT.
    async fn attempt(
        &mut self,
        jobs: &mut [Job],
        read: Option<Vec<Answer>>,
        queue: Option<&mut mpsc::Receiver<Message>>,
        next: &mut Group,
    ) -> Result<Outcome, PostgresFailure> {
        let mut writes = Vec::new();
        if let Some(reads) = reads(jobs) {
            let read = match read {
                Some(read) => read,
                None => self.read(&reads).await?,
            };
            let mut plan = Plan::new(&read)?;
            for job in jobs.iter_mut() {
                if let Job::Commit(job) = job {
                    job.result = Some(plan.apply(&job.commits));
                }
            }
            writes = plan.writes();
        }
        if let Some(queue) = queue {
            for _ in 0..self.max_batch {
                let Ok(message) = queue.try_recv() else { break };
                next.add(message, queue);
            }
        }
        let ahead = reads(&next.shared).unwrap_or_default();
        let own = writes.len();
        let statements = jobs.iter().filter_map(statements_of).flatten();
        let queries: Vec<_> = writes.iter().chain(statements).collect();
        // Required even if all are conflicts: only the owner of the lease can know.
        let (outcome, read) = self.transact(&queries, &ahead, jobs.len()).await?;
        next.read = read;
        Ok(match outcome {
            Outcome::Committed(answers) => Outcome::Committed(answers.into_iter().skip(own).collect()),
            Outcome::CommittedUnseen => Outcome::CommittedUnseen,
        })
    }

    async fn decide(&mut self, mut job: Box<dyn DecisionJob>) {
        let written = self.attempt_decision(&mut *job).await;
        job.settle(written);
    }

    async fn attempt_decision(&mut self, job: &mut dyn DecisionJob) -> Result<(), PostgresFailure> {
        let read = self.read(job.reads()).await?;
        let writes = job.decide(&read)?;
        self.transact(&writes.iter().collect::<Vec<_>>(), &[], 1).await.map(drop)
    }

    async fn read(&mut self, queries: &[Query]) -> Result<Vec<Answer>, PostgresFailure> {
        let writing = self.writing().await?;
        let read = writing.session.run(&queries.iter().collect::<Vec<_>>()).await;
        if read.as_ref().is_err_and(PostgresFailure::ends_connection) {
            self.writing = None;
        }
        read
    }

    /// One shared transaction of `jobs`, and the queries after it, if no other transaction came between.
    async fn transact(
        &mut self,
        queries: &[&Query],
        ahead: &[Query],
        jobs: usize,
    ) -> Result<(Outcome, Option<Vec<Answer>>), PostgresFailure> {
        let started = Instant::now();
        let outcome = self.transact_once(queries, ahead).await;
        match &outcome {
            Ok(_) => self.metrics.committed(jobs, started.elapsed()),
            Err(_) => self.metrics.failed(),
        }
        outcome
    }

    async fn transact_once(
        &mut self,
        queries: &[&Query],
        ahead: &[Query],
    ) -> Result<(Outcome, Option<Vec<Answer>>), PostgresFailure> {
        let epoch = self.epoch;
        // Connecting determines which group was the last one.
        self.writing().await?;
        let writing = self.writing.as_ref().ok_or(PostgresFailure::NotActive)?;
        let group = self.group.saturating_add(1);
        self.group = group;
        let begin = Query::new("check the lease", BEGIN_WRITE, params![epoch, writing.number, group]);
        let all: Vec<_> = std::iter::once(&begin).chain(queries.iter().copied()).collect();
        match writing.session.transact(&all, &ahead.iter().collect::<Vec<_>>()).await {
            Ok((answers, read)) => {
                let read = read.filter(|_| !ahead.is_empty());
                Ok((Outcome::Committed(answers.into_iter().skip(1).collect()), read))
            }
            Err(TransactionFailure::RolledBack(failure)) => {
                if failure.ends_connection() {
                    self.writing = None;
                }
                Err(failure)
            }
            Err(TransactionFailure::Unknown(failure)) => Ok((self.find_out(group, failure).await?, None)),
        }
    }

    /// Determines the outcome of a commit; see the module.
    async fn find_out(&mut self, group: i64, lost: PostgresFailure) -> Result<Outcome, PostgresFailure> {
        self.certainty.send_replace(Certainty::Doubtful);
        self.writing = None;
        tracing::warn!(
            error = &lost as &dyn std::error::Error,
            "a commit has no answer; finding out what became of it"
        );
        let deadline = Instant::now() + self.outcome_timeout;
        let mut pause = FIRST_PAUSE;
        loop {
            match self.connect().await {
                Ok(()) if self.group == group => {
                    tracing::warn!("the commit without an answer had happened");
                    return Ok(Outcome::CommittedUnseen);
                }
                Ok(()) => {
                    tracing::warn!("the commit without an answer had not happened");
                    return Err(lost);
                }
                Err(PostgresFailure::NotActive) => {
                    self.certainty.send_replace(Certainty::Over);
                    return Err(PostgresFailure::OutcomeUnknown);
                }
                // Readers wait until a later attempt succeeds.
                Err(_) if Instant::now() >= deadline => {
                    self.unknown = Some(group);
                    return Err(PostgresFailure::OutcomeUnknown);
                }
                Err(_) => tokio::time::sleep(pause).await,
            }
            pause = (pause * 2).min(MAX_PAUSE);
        }
    }

    async fn writing(&mut self) -> Result<&Writing, PostgresFailure> {
        if self.writing.as_ref().is_none_or(|writing| writing.session.is_closed()) {
            self.connect().await?;
        }
        self.writing.as_ref().ok_or(PostgresFailure::NotActive)
    }
}

/// The queries for the rows that the commits among these jobs depend on; `None` without commits.
fn reads(jobs: &[Job]) -> Option<Vec<Query>> {
    let commits = jobs.iter().filter_map(|job| match job {
        Job::Commit(job) => Some(&job.commits),
        Job::Statements(_) | Job::Decision(_) => None,
    });
    let mut commits = commits.peekable();
    commits.peek()?;
    Some(Plan::reads(&commits.flatten().collect::<Vec<_>>()))
}

fn statements_of(job: &Job) -> Option<&[Query]> {
    match job {
        Job::Statements(job) => Some(&job.queries),
        Job::Commit(_) | Job::Decision(_) => None,
    }
}

fn fail(jobs: Vec<Job>, failure: &PostgresFailure) {
    for job in jobs {
        job.fail(failure);
    }
}

/// Callers may be gone; the work is done anyway.
fn settle(jobs: Vec<Job>, outcome: Outcome) {
    let mut answers = match outcome {
        Outcome::Committed(answers) => Some(answers.into_iter()),
        Outcome::CommittedUnseen => None,
    };
    for job in jobs {
        match job {
            Job::Commit(job) => {
                let result = job.result.map_or(Err(StoreError::NotActive), |result| Ok(result?));
                drop(job.answer.send(result));
            }
            Job::Statements(job) => {
                let result = match &mut answers {
                    Some(answers) => Ok(answers.by_ref().take(job.queries.len()).collect()),
                    None if job.is_blind => Ok(Vec::new()),
                    None => Err(PostgresFailure::OutcomeUnknown),
                };
                drop(job.answer.send(result.map_err(Into::into)));
            }
            Job::Decision(job) => job.settle(Ok(())),
        }
    }
}
