//! The engine's tasks and their end: the inbox is drained first, then the queues of the workers, because a wallet may
//! have sent a message only once.

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument as _;

#[derive(Clone)]
pub(crate) struct Tasks {
    tracker: TaskTracker,
    stop: CancellationToken,
    inbox_drained: CancellationToken,
    failed: CancellationToken,
}

impl Tasks {
    pub(crate) fn new(tracker: TaskTracker, stop: CancellationToken) -> Self {
        Self { tracker, stop, inbox_drained: CancellationToken::new(), failed: CancellationToken::new() }
    }

    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tracker.spawn(task);
    }

    /// Runs `work` on a task that shutdown waits for, even if its caller is dropped. `None` if it panics.
    pub(crate) async fn run_to_end<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        self.tracker.spawn(work.in_current_span()).await.ok()
    }

    /// Spawns a task that is vital to the engine: if it panics, [`failed`](Self::failed) returns.
    pub(crate) fn spawn_vital(&self, task: impl Future<Output = ()> + Send + 'static) {
        let task = self.tracker.spawn(task);
        let failed = self.failed.clone();
        self.tracker.spawn(async move {
            if task.await.is_err_and(|end| end.is_panic()) {
                failed.cancel();
            }
        });
    }

    pub(crate) async fn failed(&self) {
        self.failed.cancelled().await;
    }

    pub(crate) async fn stopped(&self) {
        self.stop.cancelled().await;
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stop.is_cancelled()
    }

    pub(crate) async fn unless_stopped<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.stop.cancelled() => None,
            output = future => Some(output),
        }
    }

    /// Called once the inbox is empty after the stop: workers then end when their queues are empty.
    pub(crate) fn set_inbox_drained(&self) {
        self.inbox_drained.cancel();
    }

    pub(crate) async fn inbox_drained(&self) {
        self.inbox_drained.cancelled().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_a_panic_of_a_vital_task_is_a_failure() {
        let tasks = Tasks::new(TaskTracker::new(), CancellationToken::new());
        tasks.spawn(async { panic!("on purpose") });
        tasks.spawn_vital(async {});
        tasks.tracker.close();
        tasks.tracker.wait().await;
        assert!(!tasks.failed.is_cancelled());
        tasks.spawn_vital(async { panic!("on purpose") });
        tasks.failed().await;
    }

    #[tokio::test]
    async fn no_work_starts_after_the_stop() {
        let stop = CancellationToken::new();
        let tasks = Tasks::new(TaskTracker::new(), stop.clone());
        assert_eq!(tasks.unless_stopped(std::future::ready(7)).await, Some(7));
        stop.cancel();
        assert_eq!(tasks.unless_stopped(std::future::ready(7)).await, None);
        assert!(tasks.is_stopping());
    }
}
