//! When the app received the first event of each stream.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use parking_lot::Mutex;

/// When the first event of each stream came.
#[derive(Clone, Default)]
pub(crate) struct FirstEvents(Arc<Mutex<HashMap<String, Instant>>>);

impl FirstEvents {
    pub(crate) fn record(&self, stream: String, at: Instant) {
        self.0.lock().entry(stream).or_insert(at);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().len()
    }

    /// When the event of this stream came.
    pub(crate) fn of(&self, stream: &str) -> Option<Instant> {
        self.0.lock().get(stream).copied()
    }

    /// Waits until those of this many streams have come.
    pub(crate) async fn wait_for(&self, count: usize, patience: Duration) -> Result<()> {
        let end = Instant::now() + patience;
        while self.len() < count {
            if Instant::now() > end {
                bail!("{} of {count} events came in {patience:?}", self.len());
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }
}
