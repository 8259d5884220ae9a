//! Tasks whose panics fail the test.

use std::future::Future;
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

    /// Fails when one of the tasks has.
    pub(crate) fn check(&self) {
        while let Some(ended) = self.0.lock().try_join_next() {
            pass_on(ended);
        }
    }

    /// Waits until all tasks have ended, those included that tasks start.
    pub(crate) async fn ended(&self, within: Duration) {
        let deadline = tokio::time::Instant::now() + within;
        loop {
            self.check();
            let left = self.0.lock().len();
            if left == 0 {
                return;
            }
            assert!(tokio::time::Instant::now() < deadline, "{left} tasks have not ended");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

fn pass_on(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        std::panic::resume_unwind(error.into_panic());
    }
}
