//! A test of the app's webhook: an operation that is finished when it starts, with one event.

use serde::{Deserialize, Serialize};
use usher_protocol::PublicKey;

use crate::UnixMillis;
use crate::event_data::EventData;
use crate::machine::{Effect, Input, StateMachine, StepResult, emit};
use crate::ports::CorrelationKey;

/// The state of a test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookTest {}

impl WebhookTest {
    pub(crate) fn start(now: UnixMillis) -> (Self, Vec<Effect>) {
        (Self {}, vec![emit(EventData::Test {}, now), Effect::Finish])
    }
}

impl StateMachine for WebhookTest {
    fn step(&mut self, _: &Input, _: UnixMillis) -> StepResult {
        StepResult::Ignored
    }

    fn wake_at(&self) -> Option<UnixMillis> {
        None
    }

    fn correlations(&self) -> Vec<CorrelationKey> {
        Vec::new()
    }

    fn is_about(&self, _: &PublicKey) -> bool {
        false
    }
}
