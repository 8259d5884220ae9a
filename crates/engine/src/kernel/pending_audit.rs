//! The entry that the audit log gets with the first commit of a request. It travels with the request without being a parameter of
//! every function between, as tracing's span does: nothing is allowed by it.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Map, Value};

use crate::ports::NewAuditEntry;

/// The entry of the request that is being processed, until it is written.
#[derive(Debug, Default)]
pub struct PendingAudit(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    entry: Option<NewAuditEntry>,
    details: Map<String, Value>,
}

tokio::task_local! {
    static CURRENT: Arc<PendingAudit>;
}

impl PendingAudit {
    /// That of the request for which this task works.
    pub fn current() -> Option<Arc<Self>> {
        CURRENT.try_with(Arc::clone).ok()
    }

    /// Runs `work` for the request with this entry.
    pub async fn scope<T>(self: Arc<Self>, work: impl Future<Output = T>) -> T {
        CURRENT.scope(self, work).await
    }

    /// From now on the first commit of the request has this entry with it.
    pub fn set(&self, entry: NewAuditEntry) {
        self.0.lock().entry = Some(entry);
    }

    /// Takes the entry, with all details, if it was not taken before, and is wanted.
    pub fn take_if(&self, is_wanted: impl FnOnce(&NewAuditEntry) -> bool) -> Option<NewAuditEntry> {
        let mut state = self.0.lock();
        if !state.entry.as_ref().is_some_and(is_wanted) {
            return None;
        }
        let mut entry = state.entry.take()?;
        entry.details.extend(state.details.clone());
        Some(entry)
    }

    /// The same, whichever it is.
    pub fn take(&self) -> Option<NewAuditEntry> {
        self.take_if(|_| true)
    }

    /// The details that were added.
    pub fn details(&self) -> Map<String, Value> {
        self.0.lock().details.clone()
    }

    /// Adds to the entry of the request on what it acts: no secret, and nothing of a user.
    pub fn add_detail(name: &str, value: impl Into<Value>) {
        if let Some(current) = Self::current() {
            current.0.lock().details.insert(name.to_owned(), value.into());
        }
    }
}
