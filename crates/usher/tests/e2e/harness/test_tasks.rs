//! Tasks whose panics fail the test.

use std::future::{Future, poll_fn};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::{JoinError, JoinSet};

/// Tasks that run beside the test; dropping it ends them.
#[derive(Default)]
pub(crate) struct TestTasks(Mutex<JoinSet<()>>);

impl TestTasks {
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.0.lock().spawn(task);
    }

    pub(crate) fn check(&self) {
        while let Some(ended) = self.0.lock().try_join_next() {
            pass_on(ended);
        }
    }

    /// Waits until all tasks have ended, those included that tasks start.
    pub(crate) async fn ended(&self, within: Duration) {
        let all = async {
            while let Some(ended) = poll_fn(|context| self.0.lock().poll_join_next(context)).await {
                pass_on(ended);
            }
        };
        tokio::time::timeout(within, all).await.expect("tasks have not ended");
    }
}

fn pass_on(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        std::panic::resume_unwind(error.into_panic());
    }
}
