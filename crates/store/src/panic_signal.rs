//! Signals that a thread or task of the database has panicked: from then on the store does not work.

use std::sync::Arc;

use tokio::sync::watch;

/// Rung by threads and tasks that panic.
#[derive(Clone, Debug)]
pub(crate) struct PanicSignal(Arc<watch::Sender<bool>>);

/// What a thread holds while it runs: dropped by a panic, it rings.
pub(crate) struct Guard(PanicSignal);

impl PanicSignal {
    pub(crate) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    /// For a thread to hold while it runs.
    pub(crate) fn guard(&self) -> Guard {
        Guard(self.clone())
    }

    /// Returns when it was raised.
    pub(crate) async fn raised(&self) {
        // The sender is held by `self`: this cannot fail.
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
