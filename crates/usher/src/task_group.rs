//! Groups of tasks.

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Tasks that end together.
#[derive(Default)]
pub(crate) struct TaskGroup {
    pub(crate) tasks: TaskTracker,
    pub(crate) stop: CancellationToken,
}

impl TaskGroup {
    /// Cancels the tasks, and waits until they have ended.
    pub(crate) async fn close(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}
