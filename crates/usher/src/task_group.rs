//! Tasks that end together.

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Tasks that end together: those of one layer.
#[derive(Default)]
pub(crate) struct TaskGroup {
    pub(crate) tasks: TaskTracker,
    pub(crate) stop: CancellationToken,
}

impl TaskGroup {
    /// Asks the tasks to end, and waits until they have.
    pub(crate) async fn close(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}
