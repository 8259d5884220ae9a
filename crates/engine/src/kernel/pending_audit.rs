//! The audit entry for the first commit of a request. It is task-local, like tracing's span, instead of a parameter of
//! every function between; no permission depends on it.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Map, Value};

use crate::ports::NewAuditEntry;

/// The entry of the current request, until it is written.
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
    /// The entry of this task's request.
    pub fn current() -> Option<Arc<Self>> {
        CURRENT.try_with(Arc::clone).ok()
    }

    /// Runs `work` for the request with this entry.
    pub async fn scope<T>(self: Arc<Self>, work: impl Future<Output = T>) -> T {
        CURRENT.scope(self, work).await
    }

    /// Sets the entry for the first commit of the request.
    pub fn set(&self, entry: NewAuditEntry) {
        self.0.lock().entry = Some(entry);
    }

    /// Takes the entry, with all details, if it was not taken before and is wanted.
    pub fn take_if(&self, is_wanted: impl FnOnce(&NewAuditEntry) -> bool) -> Option<NewAuditEntry> {
        let mut state = self.0.lock();
        if !state.entry.as_ref().is_some_and(is_wanted) {
            return None;
        }
        let mut entry = state.entry.take()?;
        entry.details.extend(state.details.clone());
        Some(entry)
    }

    /// Takes the entry unconditionally.
    pub fn take(&self) -> Option<NewAuditEntry> {
        self.take_if(|_| true)
    }

    /// The added details.
    pub fn details(&self) -> Map<String, Value> {
        self.0.lock().details.clone()
    }

    /// Adds a detail about the objects of the request: no secret, and nothing about a user.
    pub fn add_detail(name: &str, value: impl Into<Value>) {
        if let Some(current) = Self::current() {
            current.0.lock().details.insert(name.to_owned(), value.into());
        }
    }
}
