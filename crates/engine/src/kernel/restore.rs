//! Restores the index and the timers from the store at the start.

use std::sync::Arc;

use super::index::Wake;
use super::invoice_watcher::InvoiceWatcher;
use super::observer::Observer;
use super::outbox::Outbox;
use super::timers::{Due, HELD_FOR, TimerKind, left};
use crate::kernel::core::Core;
use crate::ports::{OpenOperation, StoreError, Table};
use crate::{Requester, StreamId, UnixMillis};

const PAGE: usize = 10_000;

pub(crate) struct Restorer {
    pub(crate) core: Core,
    pub(crate) watcher: Arc<InvoiceWatcher>,
    pub(crate) observers: Vec<Arc<dyn Observer>>,
}

#[derive(Default)]
pub(crate) struct Restored {
    /// Operations that may have been waiting for the Lightning backend, the ticket wallet or a remote signer.
    pub(crate) waiting: Vec<StreamId>,
    /// The latest time of the wall clock recorded by operations.
    shown: Option<UnixMillis>,
    sending: u64,
}

impl Restorer {
    pub(crate) async fn restore(&self, now: UnixMillis) -> Result<Restored, StoreError> {
        let mut restored = Restored::default();
        let mut page = self.page(None).await?;
        while let Some(last) = page.last().map(|last| last.id) {
            // Read while this one is restored.
            let next = async { if page.len() == PAGE { self.page(Some(last)).await } else { Ok(Vec::new()) } };
            let restore = async {
                for operation in &page {
                    self.restore_one(operation, now, &mut restored).await?;
                }
                Ok(())
            };
            (page, ()) = tokio::try_join!(next, restore)?;
        }
        if let Some(shown) = restored.shown {
            self.core.timers.has_shown(shown);
        }
        Ok(restored)
    }

    /// Another task reads it and decodes its rows.
    async fn page(&self, after: Option<StreamId>) -> Result<Vec<OpenOperation>, StoreError> {
        let store = self.core.store.clone();
        let read = self.core.tasks.run_to_end(async move { store.open_operations(after, PAGE).await }).await;
        read.unwrap_or(Err(StoreError::Unexpected("the open operations are not read")))
    }

    async fn restore_one(
        &self,
        operation: &OpenOperation,
        now: UnixMillis,
        restored: &mut Restored,
    ) -> Result<(), StoreError> {
        let id = operation.id;
        if let Some(hash) = operation.watched {
            self.watcher.watch_again(id, hash, operation.done);
        }
        if operation.damaged {
            self.core.damaged_rows.set_aside(Table::Operations, id);
            self.core.index.load(operation, None, None);
            return Ok(());
        }
        let timers = &self.core.timers;
        let resend_at = operation.has_outbox.then(|| timers.after(Outbox::after_restart(restored.sending)));
        let by_calendar = operation.kind.is_woken_by_the_calendar();
        let wake = operation.wake_at.map(|at| {
            let left = left(at, operation.at, now);
            Wake { at, due: if by_calendar { Due::Wall(at) } else { timers.after(left).into() } }
        });
        self.core.index.load(operation, wake, resend_at);
        // Without the last minutes: the clock may have jumped just before the restart. The reserved stream's id has no
        // time.
        let known = UnixMillis(1)..=now.minus(HELD_FOR);
        let shown = [operation.at, id.created_at()].into_iter().filter(|at| known.contains(at));
        restored.shown = restored.shown.max(shown.max());
        if !operation.done {
            self.core.metrics.loaded(operation.kind);
        }
        if let Some(wake) = wake {
            timers.set(wake.due, id, TimerKind::Wake);
        }
        if operation.kind.resumes() && !operation.done {
            restored.waiting.push(id);
        }
        let read =
            if operation.kind.is_read_at_start() { self.core.readable(&Requester::Service, id).await? } else { None };
        let read = read.as_ref().map(|(stored, read)| (stored.version(), read));
        if let Some(keys) = read.and_then(|(_, read)| read.may_close_early()) {
            self.core.index.set_participants(id, keys);
        }
        for observer in &self.observers {
            observer.restored(operation, read, now);
        }
        if let Some(at) = resend_at {
            restored.sending += 1;
            timers.set(at, id, TimerKind::Resend);
        }
        Ok(())
    }
}
