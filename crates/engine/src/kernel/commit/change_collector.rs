//! Collects the changes of one transaction: a step, the operations it starts, and those it signals.

use std::collections::VecDeque;
use std::sync::Arc;

use tracing::error;

use super::change::{Change, append};
use crate::kernel::core::Core;
use crate::kernel::observer::LinkedChanges;
use crate::kernel::requester::Requester;
use crate::machine::{Effect, Input, LinkedChange, Signal, StepResult};
use crate::ports::{CorrelationKey, StoreError, Table};
use crate::registry::Operation;
use crate::{Origin, StreamId, UnixMillis};

type Signals = VecDeque<(StreamId, CorrelationKey, Signal)>;

pub(super) struct ChangeCollector {
    pub(super) core: Core,
    pub(super) linked_changes: Arc<dyn LinkedChanges>,
}

impl ChangeCollector {
    /// `changes` with their consequences, without effects that start or change other operations.
    pub(super) async fn collect(&self, changes: Vec<Change>, now: UnixMillis) -> Result<Vec<Change>, StoreError> {
        let (mut collected, mut signals) = (Vec::<Change>::new(), Signals::new());
        let mut started = VecDeque::from(changes);
        let mut linked_changes = Vec::new();
        loop {
            while let Some(mut change) = started.pop_front() {
                self.extract(&mut change, &mut started, &mut signals, &mut linked_changes, now)?;
                collected.push(change);
            }
            if let Some((sender, key, signal)) = signals.pop_front() {
                let known = collected.iter_mut().find(|change| change.operation.correlations().contains(&key));
                match known {
                    Some(change) if change.effects.contains(&Effect::Finish) => end_instead(&mut collected, sender),
                    Some(change) => {
                        if step_by_signal(change, signal, now) {
                            self.extract(change, &mut started, &mut signals, &mut linked_changes, now)?;
                        }
                    }
                    None => match self.recipient(key).await? {
                        Some(mut change) => {
                            if step_by_signal(&mut change, signal, now) {
                                started.push_back(change);
                            }
                        }
                        None => end_instead(&mut collected, sender),
                    },
                }
                continue;
            }
            let Some(linked_change) = linked_changes.pop() else { return Ok(collected) };
            for id in self.linked_changes.closes(&linked_change) {
                if !collected.iter().any(|change| change.id == id)
                    && let Some(mut change) = self.open(id).await?
                    && step_by_signal(&mut change, Signal::Superseded, now)
                {
                    collected.push(change);
                }
            }
        }
    }

    /// The open operation with this key, unchanged; `None` if it does not exist or cannot be read.
    async fn recipient(&self, key: CorrelationKey) -> Result<Option<Change>, StoreError> {
        let found = match self.core.store.operation_with_key(&Requester::Service, key).await {
            Ok(Some((id, stored))) => Operation::from_state(&stored.state)
                .ok()
                .map(|operation| Change::step(id, stored.version(), operation, Vec::new())),
            Ok(None) => return Ok(None),
            Err(StoreError::Unreadable(_)) => None,
            Err(failure) => return Err(failure),
        };
        if found.is_none() {
            self.core.metrics.store_failed();
            error!("an operation that another one sends a signal to cannot be read: the signal is dropped");
            if let Some(id) = self.core.index.find(key) {
                self.core.damaged_rows.set_aside(Table::Operations, id);
            }
        }
        Ok(found)
    }

    async fn open(&self, id: StreamId) -> Result<Option<Change>, StoreError> {
        let stored = match self.core.store.operation(&Requester::Service, id).await {
            Ok(stored) => stored.filter(|stored| stored.finished_at.is_none()),
            Err(StoreError::Unreadable(_)) => None,
            Err(failure) => return Err(failure),
        };
        let operation = stored.and_then(|stored| Some((stored.version(), Operation::from_state(&stored.state).ok()?)));
        Ok(operation.map(|(version, operation)| Change::step(id, version, operation, Vec::new())))
    }

    /// An operation started by a step has the same origin as that step's operation.
    fn started_by(&self, origin: Option<Origin>, operation: Operation, effects: Vec<Effect>) -> Change {
        Change::start(self.core.ids.stream_id(), origin, operation, effects)
    }

    /// Extracts started operations, signals and linked changes from the effects of a change.
    fn extract(
        &self,
        change: &mut Change,
        started: &mut VecDeque<Change>,
        signals: &mut Signals,
        linked_changes: &mut Vec<LinkedChange>,
        now: UnixMillis,
    ) -> Result<(), StoreError> {
        for effect in std::mem::take(&mut change.effects) {
            match effect {
                Effect::Start(state, effects) => {
                    let operation = Operation::from_state(&state)
                        .map_err(|_| StoreError::Unexpected("an operation that is to start cannot be read"))?;
                    started.push_back(self.started_by(change.origin, operation, effects));
                }
                Effect::LinkedChange(linked_change) => {
                    if let Some((operation, effects)) = self.linked_changes.start(&linked_change, now) {
                        started.push_back(self.started_by(change.origin, operation, effects));
                    }
                    linked_changes.push(linked_change);
                }
                Effect::Signal(key, signal) => signals.push_back((change.id, key, signal)),
                effect => change.effects.push(effect),
            }
        }
        Ok(())
    }
}

/// Handles a signal of this change without a recipient: the step ends differently, or the signal is dropped.
fn end_instead(collected: &mut [Change], sender: StreamId) {
    if let Some(change) = collected.iter_mut().find(|change| change.id == sender)
        && let Some(effects) = change.operation.signal_without_recipient()
    {
        change.effects = effects;
    }
}

fn step_by_signal(change: &mut Change, signal: Signal, now: UnixMillis) -> bool {
    let before = change.operation.correlations();
    let StepResult::Stepped(more) = change.operation.step(&Input::Signal(signal), now) else { return false };
    change.claims.extend(change.operation.correlations().into_iter().filter(|key| !before.contains(key)));
    append(&mut change.effects, more);
    true
}
