//! What belongs into one transaction: a step, the operations it begins, and those it says something to.

use std::collections::VecDeque;

use tracing::error;

use super::{Change, append};
use crate::UnixMillis;
use crate::engine::Engine;
use crate::operations::{Effect, Input, Note, Operation, Outcome};
use crate::ports::{CorrelationKey, Revision, StoreError, Table};

/// A note, and the key of the operation that it is for.
type Notes = VecDeque<(CorrelationKey, Note)>;

impl Engine {
    /// `changes`, and what follows from them, each operation once. No effect is left that begins or tells an operation.
    pub(super) async fn gather(&self, changes: Vec<Change>, now: UnixMillis) -> Result<Vec<Change>, StoreError> {
        let (mut gathered, mut notes) = (Vec::<Change>::new(), Notes::new());
        let mut begun = VecDeque::from(changes);
        loop {
            while let Some(mut change) = begun.pop_front() {
                self.sort_out(&mut change, &mut begun, &mut notes);
                gathered.push(change);
            }
            let Some((key, note)) = notes.pop_front() else { return Ok(gathered) };
            let known = gathered.iter_mut().find(|change| change.operation.correlations().contains(&key));
            match known {
                Some(change) => {
                    if tell(change, note, now) {
                        self.sort_out(change, &mut begun, &mut notes);
                    }
                }
                None => {
                    if let Some(mut change) = self.to_be_told(key).await?
                        && tell(&mut change, note, now)
                    {
                        begun.push_back(change);
                    }
                }
            }
        }
    }

    /// The open operation with this key, unchanged. One that is not there does not care, and one that cannot be read does
    /// not keep others from what happens to them.
    async fn to_be_told(&self, key: CorrelationKey) -> Result<Option<Change>, StoreError> {
        let found = match self.store.operation_with_key(key).await {
            Ok(Some((id, stored))) => Operation::from_state(&stored.state).ok().map(|operation| Change {
                id,
                operation,
                effects: Vec::new(),
                expected: Revision::At(stored.revision),
                claims: Vec::new(),
            }),
            Ok(None) => return Ok(None),
            Err(StoreError::Unreadable(_)) => None,
            Err(failure) => return Err(failure),
        };
        if found.is_none() {
            self.counts.store_failed();
            error!("an operation that is said something by another cannot be read: it does not learn of it");
            if let Some(id) = self.index.find(key) {
                self.set_aside(Table::Operations, id);
            }
        }
        Ok(found)
    }

    /// Takes out what a change begins, and what it says to others.
    fn sort_out(&self, change: &mut Change, begun: &mut VecDeque<Change>, notes: &mut Notes) {
        for effect in std::mem::take(&mut change.effects) {
            match effect {
                Effect::Start(operation, effects) => {
                    begun.push_back(Change::start(self.new_stream_id(), *operation, effects));
                }
                Effect::Tell(key, note) => notes.push_back((key, note)),
                effect => change.effects.push(effect),
            }
        }
    }
}

/// Says whether it made anything of the note.
fn tell(change: &mut Change, note: Note, now: UnixMillis) -> bool {
    if change.effects.contains(&Effect::Finish) {
        return false;
    }
    let before = change.operation.correlations();
    let Outcome::Stepped(more) = change.operation.step(&Input::Note(note), now) else { return false };
    change.claims.extend(change.operation.correlations().into_iter().filter(|key| !before.contains(key)));
    append(&mut change.effects, more);
    true
}
