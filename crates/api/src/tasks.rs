//! Requests that change something run to their end, whoever hangs up.

use std::sync::Arc;

use tokio::task::JoinError;
use tracing::Instrument as _;

use crate::ApiState;
use crate::problem::Problem;

/// The change did not come to its end: it panicked, or the runtime went away under it.
#[derive(Debug, thiserror::Error)]
#[error("a change was lost")]
pub(crate) struct TaskLost(#[source] pub(crate) Option<JoinError>);

impl From<TaskLost> for Problem {
    fn from(lost: TaskLost) -> Self {
        Self::internal(lost)
    }
}

/// Runs `change` on a task that shutdown waits for, and waits for it.
///
/// A handler is dropped, wherever it stands, when its client hangs up or its time is over. A change cut in two is
/// money asked for that nobody watches; on its own task it is done, and told by the stream's events. At most
/// `limits.max_changes` run at a time: a caller that cannot begin waits, and may leave, before anything happened.
///
/// # Errors
/// [`TaskLost`].
pub(crate) async fn run_detached<T, F>(state: &ApiState, change: F) -> Result<T, TaskLost>
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    let place = Arc::clone(&state.changes).acquire_owned().await.map_err(|_closed| TaskLost(None))?;
    let task = async move {
        let result = change.await;
        drop(place);
        result
    };
    state.tasks.spawn(task.in_current_span()).await.map_err(|error| TaskLost(Some(error)))
}
