//! Runs everything that changes something on a task of its own, so that a client that disconnects cannot interrupt it.

use std::sync::Arc;

use tokio::task::JoinError;
use tracing::Instrument as _;
use usher_engine::ports::StoreError;
use usher_engine::{RequestContext, in_current_request};

use crate::ApiState;
use crate::audit;
use crate::client_places::Full;
use crate::problem::Problem;

/// The work did not complete.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TaskLost {
    /// It panicked, or the runtime has stopped.
    #[error("a task was lost")]
    Task(#[source] Option<JoinError>),
    /// It did not begin, because the audit log could not be written.
    #[error(transparent)]
    NotRecorded(#[from] StoreError),
    /// It did not begin, because its client has begun too much.
    #[error(transparent)]
    Full(#[from] Full),
}

impl From<TaskLost> for Problem {
    fn from(lost: TaskLost) -> Self {
        match lost {
            TaskLost::Task(_) => Self::internal(lost),
            TaskLost::NotRecorded(error) => error.into(),
            TaskLost::Full(full) => full.into(),
        }
    }
}

/// Runs `work` on a task that the shutdown waits for, and waits for its result. A handler is dropped when its client
/// disconnects or its time is over; interrupted work could be money that was requested and that nothing watches. At
/// most `limits.max_changes` run at a time; a request that waits may be dropped before anything happened.
pub(crate) async fn run_detached<T, F>(state: &ApiState, work: F) -> Result<T, TaskLost>
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    let key = RequestContext::current().and_then(|context| context.origin);
    // Before it waits: a key that fills the queue would hold up others.
    let share = key.map(|key| state.changes_of_keys.take(Some(key))).transpose()?;
    let permit = Arc::clone(&state.changes).acquire_owned().await.map_err(|_closed| TaskLost::Task(None))?;
    run_at(state, (share, permit), work).await
}

/// The same for work that has another place than one of `limits.max_changes`.
pub(crate) async fn run_at<P, T, F>(state: &ApiState, place: P, work: F) -> Result<T, TaskLost>
where
    P: Send + 'static,
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    // What is moved to the task is large.
    let work = Box::pin(work);
    let begun = state.clone();
    let task = async move {
        audit::begin(&begun).await?;
        let result = work.await;
        drop(place);
        Ok(result)
    };
    let task = state.tasks.spawn(in_current_request(task).in_current_span());
    task.await.map_err(|error| TaskLost::Task(Some(error)))?
}
