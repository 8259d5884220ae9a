//! Signals that a thread or task of the database has panicked; the store no longer works then.

use std::sync::Arc;

use tokio::sync::watch;

/// Raised by threads and tasks that panic.
#[derive(Clone, Debug)]
pub(crate) struct PanicSignal(Arc<watch::Sender<bool>>);

/// Held by a running thread; raises the signal when a panic drops it.
pub(crate) struct Guard(PanicSignal);

impl PanicSignal {
    pub(crate) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    pub(crate) fn guard(&self) -> Guard {
        Guard(self.clone())
    }

    pub(crate) async fn raised(&self) {
        // `self` holds the sender, so this cannot fail.
        drop(self.0.subscribe().wait_for(|raised| *raised).await);
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.0.send_replace(true);
        }
    }
}
