//! Keeps the tables of open logins in step with commits.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tracing::warn;

use super::browser_logins::BrowserLogins;
use super::reusable_logins::ReusableLogins;
use crate::kernel::index::Index;
use crate::kernel::observer::{Chore, CommittedStep, Observer};
use crate::operations::{Login, Operation};
use crate::ports::{OpenOperation, Store};
use crate::{StreamId, UnixMillis};

/// How long a login that a browser has begun is kept after it has ended without an event, for the page that says so.
const EVENTLESS_LOGINS_KEPT: Duration = Duration::from_secs(3600);

/// Rows removed in one transaction at most, so that commits of operations do not wait for long.
const BATCH: usize = 500;

/// The tables of logins that anybody can begin.
pub(crate) struct LoginTables {
    pub(crate) browser: BrowserLogins,
    pub(crate) reusable: ReusableLogins,
    pub(crate) index: Arc<Index>,
    pub(crate) store: Arc<dyn Store>,
}

const fn login(operation: &Operation) -> Option<&Login> {
    match operation {
        Operation::Login(login) => Some(login),
        _ => None,
    }
}

impl Observer for LoginTables {
    fn restored(&self, open: &OpenOperation, read: Option<(u64, &Operation)>, _: UnixMillis) {
        if let Some(login) = read.and_then(|(_, operation)| login(operation))
            && let Some(reusable) = login.reusable()
        {
            self.reusable.stepped(open.id, reusable, login, true);
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
                // Under the index's lock: not after a later commit has finished it.
                self.index.change(step.id, |_| self.reusable.stepped(step.id, reusable, login, step.is_new));
            }
        } else if step.is_new && login.is_unused() {
            self.browser.add(step.id);
        } else if step.is_finished && step.head.next_index == 0 {
            self.browser.end(step.id, step.now);
        } else if !login.is_unused() {
            self.browser.remove(step.id);
        }
    }

    fn finished(&self, step: &CommittedStep<'_>) {
        if let Some(login) = login(step.operation)
            && let Some(reusable) = login.reusable()
        {
            self.reusable.ended(step.id, reusable, login, step.now);
        }
    }
}

#[async_trait]
impl Chore for LoginTables {
    /// Removes logins that ended without an event.
    async fn run(&self, _: u64, now: UnixMillis) {
        for logins in [&self.browser, self.reusable.unused()] {
            loop {
                let ended = logins.take_ended(now.minus(EVENTLESS_LOGINS_KEPT), BATCH);
                if ended.is_empty() {
                    break;
                }
                // Those that could not be removed go when their retention is over.
                if let Err(failure) = self.store.remove_without_events(ended).await {
                    warn!(what = "logins without events", error = ?failure, "cleanup failed; retrying in 1 h");
                    break;
                }
            }
        }
    }
}
