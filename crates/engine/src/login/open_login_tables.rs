//! Updates the tables of open logins after commits.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tracing::{debug, warn};

use super::open_child_logins::ChildLogins;
use super::unused_logins::UnusedLogins;
use crate::kernel::index::Index;
use crate::kernel::observer::{CommittedStep, Observer, PeriodicTask};
use crate::kernel::requested_store::RequestedStore;
use crate::kernel::tasks::Tasks;
use crate::login::operation::Login;
use crate::ports::{OpenOperation, OperationKind, Version};
use crate::registry::Operation;
use crate::{StreamId, UnixMillis};

/// How long a login without events is kept after its end, for its page and the protocol that began it.
const EVENTLESS_LOGINS_KEPT: Duration = Duration::from_secs(3600);

/// Most rows removed in one transaction, so that commits of operations do not wait long.
const BATCH: usize = 500;

pub(crate) struct LoginTables {
    pub(crate) clients: UnusedLogins,
    pub(crate) operators: UnusedLogins,
    pub(crate) reusable: ChildLogins,
    pub(crate) index: Arc<Index>,
    pub(crate) store: RequestedStore,
    pub(crate) tasks: Tasks,
}

const fn login(operation: &Operation) -> Option<&Login> {
    match operation {
        Operation::Login(login) => Some(login),
        _ => None,
    }
}

impl Observer for LoginTables {
    fn restored(&self, open: &OpenOperation, read: Option<(Version, &Operation)>, _: UnixMillis) {
        if let Some(login) = read.and_then(|(_, operation)| login(operation)) {
            match login.reusable() {
                Some(reusable) => self.reusable.stepped(open.id, reusable, login, true),
                None if login.is_unused() => self.clients.add(open.id),
                None => {}
            }
        }
    }

    fn committing(&self, operations: &[(StreamId, &Operation)]) -> Option<Box<dyn Send>> {
        let logins = operations.iter().filter_map(|(id, operation)| Some((*id, login(operation)?)));
        self.reusable.starting(logins).map(|starting| Box::new(starting) as Box<dyn Send>)
    }

    fn committed(&self, step: &CommittedStep<'_>) {
        let Some(login) = login(step.operation) else { return };
        if let Some(reusable) = login.reusable() {
            if !step.is_finished {
                // Under the index's lock, so that it does not follow a later commit that finished it.
                self.index.change(step.id, |_| self.reusable.stepped(step.id, reusable, login, step.is_new));
            }
        } else if !login.is_unused() {
            self.clients.remove(step.id);
            self.operators.remove(step.id);
        } else if step.is_new && !self.operators.has(step.id) {
            self.clients.add(step.id);
        }
    }

    fn finished(&self, step: &CommittedStep<'_>) {
        if let Some(login) = login(step.operation)
            && let Some(reusable) = login.reusable()
        {
            let is_unused = self.reusable.ended(step.id, reusable);
            if !is_unused || !login.leaves_nothing() {
                return;
            }
            // At once, because anybody can begin and end any number. The hourly cleanup removes those left by a stop.
            let (store, id) = (self.store.clone(), step.id);
            self.tasks.spawn(async move {
                if let Err(failure) = store.remove_without_events(vec![id]).await {
                    debug!(stream_id = %id, error = ?failure, "an unused login could not be removed; retrying within 2 h");
                }
            });
        }
    }
}

#[async_trait]
impl PeriodicTask for LoginTables {
    async fn run(&self, _: u64, now: UnixMillis) {
        let before = now.minus(EVENTLESS_LOGINS_KEPT);
        loop {
            match self.store.remove_eventless(OperationKind::Login, before, BATCH).await {
                Ok(BATCH) => {}
                Ok(_) => return,
                Err(failure) => {
                    warn!(what = "logins without events", error = ?failure, "cleanup failed; retrying in 1 h");
                    return;
                }
            }
        }
    }
}
