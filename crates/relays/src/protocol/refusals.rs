//! What the relay refuses, as the status shows it.

use crate::relay_handle::RelayHandle;

/// What was told to the [`RelayHandle`] last, so that it is only told what changes: most of what relays say changes nothing.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    subscription: Option<Answer>,
    events: Option<Answer>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Answer {
    Served,
    Refused(String),
}

impl Refusals {
    /// The relay serves our subscription, or refuses it.
    pub(super) fn subscription(&mut self, handle: &RelayHandle, refusal: Option<String>) {
        let answer = refusal.map_or(Answer::Served, Answer::Refused);
        if self.subscription.as_ref() != Some(&answer) {
            handle.set_subscribed(answer == Answer::Served);
            self.subscription = Some(answer);
            self.tell(handle);
        }
    }

    /// The relay takes an event of ours, or refuses it.
    pub(super) fn events(&mut self, handle: &RelayHandle, refusal: Option<String>) {
        let answer = refusal.map_or(Answer::Served, Answer::Refused);
        if self.events.as_ref() != Some(&answer) {
            self.events = Some(answer);
            self.tell(handle);
        }
    }

    fn tell(&self, handle: &RelayHandle) {
        let refused = |what: &str, answer: &Option<Answer>| match answer {
            Some(Answer::Refused(reason)) => Some(format!("{what}: {reason}")),
            Some(Answer::Served) | None => None,
        };
        let parts: Vec<_> = [refused("subscription", &self.subscription), refused("events", &self.events)]
            .into_iter()
            .flatten()
            .collect();
        handle.set_refusal((!parts.is_empty()).then(|| parts.join("; ")));
    }
}
