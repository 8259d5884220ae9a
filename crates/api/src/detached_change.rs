//! Runs everything that changes something on a task of its own, so that a client that disconnects cannot interrupt it.

use std::sync::Arc;

use tokio::task::JoinError;
use tracing::Instrument as _;
use usher_engine::in_current_request;

use crate::ApiState;
use crate::problem::Problem;

/// The work did not complete: it panicked, or the runtime has stopped.
#[derive(Debug, thiserror::Error)]
#[error("a task was lost")]
pub(crate) struct TaskLost(#[source] pub(crate) Option<JoinError>);

impl From<TaskLost> for Problem {
    fn from(lost: TaskLost) -> Self {
        Self::internal(lost)
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
    let permit = Arc::clone(&state.changes).acquire_owned().await.map_err(|_closed| TaskLost(None))?;
    let task = async move {
        let result = work.await;
        drop(permit);
        result
    };
    state.tasks.spawn(in_current_request(task).in_current_span()).await.map_err(|error| TaskLost(Some(error)))
}
