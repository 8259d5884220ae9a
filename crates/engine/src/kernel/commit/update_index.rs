//! Updates the index and the timers after a committed step.

use super::effect_dispatcher::EffectDispatcher;
use super::step::Step;
use crate::kernel::index::Wake;
use crate::kernel::outbox::Outbox;
use crate::kernel::timers::{Due, TimerKind};
use crate::ports::OperationHead;
use crate::{StreamId, UnixMillis};

impl EffectDispatcher {
    /// Updates the operation's index entry and timers; returns whether this is its latest commit so far.
    pub(super) fn update_index(&self, step: &Step, head: OperationHead) -> bool {
        let (id, operation) = (step.id, &step.operation);
        let (sends, paused) = (step.sends(), step.paused.filter(|_| !step.sends()));
        let again = sends.then(|| self.core.timers.after(self.outbox.first_interval(operation.is_unattended())));
        let paused = paused.map(|until| self.core.timers.after(until.since(step.at)));
        let mut is_latest = true;
        let exists = self.core.index.change(id, |stream| {
            let before = *stream;
            // A signal of another operation may have changed this one, too: the later commit wins.
            is_latest = head.revision > stream.revision;
            if is_latest {
                stream.revision = head.revision;
                stream.next_index = head.next_index;
                if operation.wake_at() != before.wake.map(|wake| wake.at) {
                    stream.wake = operation.wake_at().map(|at| self.wake(at, step));
                }
                stream.done = operation.is_done();
                if sends || step.clears_outbox {
                    stream.attempts = u8::from(sends);
                    stream.resend_at = again;
                } else if paused.is_some() && stream.resend_at.is_some() {
                    (stream.resend_at, stream.attempts) = (paused, Outbox::LATE);
                }
            } else if sends && stream.resend_at.is_none() {
                // Its messages are still in the outbox, unless the later commit replaced them.
                stream.attempts = 1;
                stream.resend_at = again;
            }
            // Under the index's lock, so that the later of two commits sets the timers last.
            self.move_timer(id, (before.wake.map(|wake| wake.due), stream.wake.map(|wake| wake.due)), TimerKind::Wake);
            self.move_timer(id, (before.resend_at.map(Due::from), stream.resend_at.map(Due::from)), TimerKind::Resend);
            for key in &step.claims {
                self.core.index.claim(*key, id);
            }
        });
        if !exists {
            // Finished by a later commit that got here first.
            return false;
        }
        if let Some(keys) = operation.may_close_early() {
            self.core.index.set_participants(id, keys);
        }
        if is_latest {
            match operation.watched() {
                Some(hash) => self.watcher.watch(id, hash, !operation.is_unattended()),
                None => self.watcher.unwatch(id),
            }
        }
        is_latest
    }

    fn wake(&self, at: UnixMillis, step: &Step) -> Wake {
        let due = if step.operation.kind().is_woken_by_the_calendar() {
            Due::Wall(at)
        } else {
            step.on.plus(at.since(step.at)).into()
        };
        Wake { at, due }
    }

    fn move_timer(&self, id: StreamId, (before, after): (Option<Due>, Option<Due>), kind: TimerKind) {
        if before == after {
            return;
        }
        if let Some(at) = before {
            self.core.timers.cancel(at, id, kind);
        }
        if let Some(at) = after {
            self.core.timers.set(at, id, kind);
        }
    }
}
