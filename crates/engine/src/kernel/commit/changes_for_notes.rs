//! Gathers what belongs into one transaction: a step, the operations it starts, and those it sends a note to.

use std::collections::VecDeque;
use std::sync::Arc;

use tracing::error;

use super::{Change, append};
use crate::kernel::core::Core;
use crate::kernel::observer::FollowUps;
use crate::operations::{Effect, FollowUp, Input, Note, Operation, StepResult};
use crate::ports::{CorrelationKey, StoreError, Table};
use crate::{StreamId, UnixMillis};

type Notes = VecDeque<(StreamId, CorrelationKey, Note)>;

pub(super) struct Gatherer {
    pub(super) core: Core,
    pub(super) follow_ups: Arc<dyn FollowUps>,
}

impl Gatherer {
    /// `changes` and what follows from them, without effects that start or change another operation.
    pub(super) async fn changes_for_notes(
        &self,
        changes: Vec<Change>,
        now: UnixMillis,
    ) -> Result<Vec<Change>, StoreError> {
        let (mut gathered, mut notes) = (Vec::<Change>::new(), Notes::new());
        let mut started = VecDeque::from(changes);
        let mut follow_ups = Vec::new();
        loop {
            while let Some(mut change) = started.pop_front() {
                self.extract(&mut change, &mut started, &mut notes, &mut follow_ups, now);
                gathered.push(change);
            }
            if let Some((sender, key, note)) = notes.pop_front() {
                let known = gathered.iter_mut().find(|change| change.operation.correlations().contains(&key));
                match known {
                    Some(change) if change.effects.contains(&Effect::Finish) => end_instead(&mut gathered, sender),
                    Some(change) => {
                        if step_by_note(change, note, now) {
                            self.extract(change, &mut started, &mut notes, &mut follow_ups, now);
                        }
                    }
                    None => match self.recipient(key).await? {
                        Some(mut change) => {
                            if step_by_note(&mut change, note, now) {
                                started.push_back(change);
                            }
                        }
                        None => end_instead(&mut gathered, sender),
                    },
                }
                continue;
            }
            let Some(follow_up) = follow_ups.pop() else { return Ok(gathered) };
            for id in self.follow_ups.closes(&follow_up) {
                if !gathered.iter().any(|change| change.id == id)
                    && let Some(mut change) = self.open(id).await?
                    && step_by_note(&mut change, Note::Superseded, now)
                {
                    gathered.push(change);
                }
            }
        }
    }

    /// The open operation with this key, unchanged; `None` when it does not exist or cannot be read.
    async fn recipient(&self, key: CorrelationKey) -> Result<Option<Change>, StoreError> {
        let found = match self.core.store.operation_with_key(key).await {
            Ok(Some((id, stored))) => Operation::from_state(&stored.state)
                .ok()
                .map(|operation| Change::step(id, stored.revision, operation, Vec::new())),
            Ok(None) => return Ok(None),
            Err(StoreError::Unreadable(_)) => None,
            Err(failure) => return Err(failure),
        };
        if found.is_none() {
            self.core.metrics.store_failed();
            error!("an operation that another one sends a note to cannot be read: the note is dropped");
            if let Some(id) = self.core.index.find(key) {
                self.core.damage.set_aside(Table::Operations, id);
            }
        }
        Ok(found)
    }

    async fn open(&self, id: StreamId) -> Result<Option<Change>, StoreError> {
        let stored = match self.core.store.operation(id).await {
            Ok(stored) => stored.filter(|stored| stored.finished_at.is_none()),
            Err(StoreError::Unreadable(_)) => None,
            Err(failure) => return Err(failure),
        };
        let operation = stored.and_then(|stored| Some((stored.revision, Operation::from_state(&stored.state).ok()?)));
        Ok(operation.map(|(revision, operation)| Change::step(id, revision, operation, Vec::new())))
    }

    /// Takes what a change starts, the notes it sends and its follow-ups out of its effects.
    fn extract(
        &self,
        change: &mut Change,
        started: &mut VecDeque<Change>,
        notes: &mut Notes,
        follow_ups: &mut Vec<FollowUp>,
        now: UnixMillis,
    ) {
        for effect in std::mem::take(&mut change.effects) {
            match effect {
                Effect::Start(operation, effects) => {
                    started.push_back(Change::start(self.core.ids.stream_id(), *operation, effects));
                }
                Effect::FollowUp(follow_up) => {
                    if let Some((operation, effects)) = self.follow_ups.start(&follow_up, now) {
                        started.push_back(Change::start(self.core.ids.stream_id(), operation, effects));
                    }
                    follow_ups.push(follow_up);
                }
                Effect::Tell(key, note) => notes.push_back((change.id, key, note)),
                effect => change.effects.push(effect),
            }
        }
    }
}

/// A note of this change has no recipient: the step ends otherwise, or the note is dropped.
fn end_instead(gathered: &mut [Change], sender: StreamId) {
    if let Some(change) = gathered.iter_mut().find(|change| change.id == sender)
        && let Some(effects) = change.operation.note_without_recipient()
    {
        change.effects = effects;
    }
}

fn step_by_note(change: &mut Change, note: Note, now: UnixMillis) -> bool {
    let before = change.operation.correlations();
    let StepResult::Stepped(more) = change.operation.step(&Input::Note(note), now) else { return false };
    change.claims.extend(change.operation.correlations().into_iter().filter(|key| !before.contains(key)));
    append(&mut change.effects, more);
    true
}
