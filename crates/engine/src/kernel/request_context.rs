//! What travels with a request into the commits that it causes, without being a parameter of every function between: as tracing's
//! span does. A task that works for a request has to carry it along ([`in_current_request`]).

use std::collections::BTreeSet;
use std::sync::Arc;

use super::pending_audit::PendingAudit;
use super::request_errors::StartError;
use crate::access::Scope;

/// Who started an operation: an opaque number that is stored with it. `None` where one could be: nobody who has a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin(pub i64);

/// What is known of the request that is being processed.
#[derive(Debug, Default)]
pub struct RequestContext {
    /// Who sent it: the origin of the operations that it starts.
    pub origin: Option<Origin>,
    /// Whether operations of another origin are hidden from it.
    pub hides_others: bool,
    /// The most millisats that operations of its origin may spend within a day.
    pub spending_limit: Option<u64>,
    /// What it may do; `None`: everything.
    pub scopes: Option<BTreeSet<Scope>>,
}

tokio::task_local! {
    static CURRENT: Arc<RequestContext>;
}

impl RequestContext {
    /// The context of the request for which this task works.
    pub fn current() -> Option<Arc<Self>> {
        CURRENT.try_with(Arc::clone).ok()
    }

    /// Runs `work` for the request of this context.
    pub async fn scope<T>(self: Arc<Self>, work: impl Future<Output = T>) -> T {
        CURRENT.scope(self, work).await
    }

    /// The limit of the request for which this task works ([`Self::spending_limit`]).
    pub(crate) fn current_spending_limit() -> Option<u64> {
        CURRENT.try_with(|context| context.spending_limit).ok().flatten()
    }

    /// Passes when the request for which this task works may do what needs `scope`, beside what its endpoint needs.
    ///
    /// # Errors
    /// [`StartError::ScopeMissing`].
    pub(crate) fn need(scope: Scope) -> Result<(), StartError> {
        let lacks = |context: &Arc<Self>| context.scopes.as_ref().is_some_and(|scopes| !scopes.contains(&scope));
        if CURRENT.try_with(lacks).unwrap_or(false) { Err(StartError::ScopeMissing(scope)) } else { Ok(()) }
    }

    /// Whether operations of another origin are hidden from the request for which this task works.
    pub(crate) fn hides_others() -> bool {
        CURRENT.try_with(|context| context.hides_others).unwrap_or(false)
    }

    /// Whether an operation of this origin is hidden from the request for which this task works.
    pub(crate) fn hides(origin: Option<Origin>) -> bool {
        CURRENT.try_with(|context| context.hides_others && context.origin != origin).unwrap_or(false)
    }

    /// Who sent the request for which this task works.
    pub(crate) fn current_origin() -> Option<Origin> {
        CURRENT.try_with(|context| context.origin).ok().flatten()
    }
}

/// `work` on behalf of the request for which this task works, if there is one, on whichever task it then runs.
pub fn in_current_request<T>(work: impl Future<Output = T>) -> impl Future<Output = T> {
    let (context, audit) = (RequestContext::current(), PendingAudit::current());
    async move {
        let work = async move {
            match audit {
                Some(audit) => audit.scope(work).await,
                None => work.await,
            }
        };
        match context {
            Some(context) => context.scope(work).await,
            None => work.await,
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio_util::task::TaskTracker;

    use super::*;

    #[tokio::test]
    async fn spawned_work_belongs_to_the_request_only_when_carried_along() {
        let context =
            Arc::new(RequestContext { origin: Some(Origin(7)), hides_others: true, ..RequestContext::default() });
        let tasks = TaskTracker::new();
        assert_eq!(RequestContext::current_origin(), None);
        context
            .scope(async {
                let origin = async { RequestContext::current_origin() };
                assert_eq!(tasks.spawn(in_current_request(origin)).await.unwrap(), Some(Origin(7)));
                assert!(RequestContext::hides(None) && !RequestContext::hides(Some(Origin(7))));
                assert_eq!(tasks.spawn(async { RequestContext::current_origin() }).await.unwrap(), None);
            })
            .await;
        assert!(!RequestContext::hides(None));
        assert_eq!(in_current_request(async { RequestContext::current_origin() }).await, None);
    }
}
