//! A step of an operation that is to be committed.

use crate::machine::Effect;
use crate::ports::{CorrelationKey, Revision, Version};
use crate::registry::Operation;
use crate::{Origin, StreamId, UnixMillis};

pub(crate) struct Change {
    pub(crate) id: StreamId,
    pub(crate) operation: Operation,
    pub(crate) effects: Vec<Effect>,
    pub(crate) expected: Revision,
    pub(crate) claims: Vec<CorrelationKey>,
    pub(crate) origin: Option<Origin>,
    /// When the step happened, by the operation's own time ([`Index::time_of`](crate::kernel::index::Index::time_of)); `None`: the time of the commit.
    pub(crate) at: Option<UnixMillis>,
}

impl Change {
    pub(crate) fn start(id: StreamId, origin: Option<Origin>, operation: Operation, effects: Vec<Effect>) -> Self {
        let claims = operation.correlations();
        Self { id, operation, effects, expected: Revision::New, claims, origin, at: None }
    }

    pub(crate) fn step(id: StreamId, version: Version, operation: Operation, effects: Vec<Effect>) -> Self {
        let Version { revision, origin } = version;
        Self { id, operation, effects, expected: Revision::At(revision), claims: Vec::new(), origin, at: None }
    }
}

pub(crate) fn append(effects: &mut Vec<Effect>, more: Vec<Effect>) {
    let replaces = |effect: &Effect| matches!(effect, Effect::Send(_) | Effect::ClearOutbox);
    let is_outbox = |effect: &Effect| replaces(effect) || matches!(effect, Effect::SendAlso(_) | Effect::Pause(_));
    if more.iter().any(replaces) {
        // The later messages replace the earlier ones.
        effects.retain(|effect| !is_outbox(effect));
    }
    effects.extend(more);
}
