//! What the relay refuses, as the status shows it.

use crate::link::Link;

/// What was told to the [`Link`] last, so that it is only told what changes: most of what relays say changes nothing.
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
    pub(super) fn subscription(&mut self, link: &Link, refusal: Option<String>) {
        let answer = refusal.map_or(Answer::Served, Answer::Refused);
        if self.subscription.as_ref() != Some(&answer) {
            link.set_subscribed(answer == Answer::Served);
            self.subscription = Some(answer);
            self.tell(link);
        }
    }

    /// The relay takes an event of ours, or refuses it.
    pub(super) fn events(&mut self, link: &Link, refusal: Option<String>) {
        let answer = refusal.map_or(Answer::Served, Answer::Refused);
        if self.events.as_ref() != Some(&answer) {
            self.events = Some(answer);
            self.tell(link);
        }
    }

    fn tell(&self, link: &Link) {
        let refused = |what: &str, answer: &Option<Answer>| match answer {
            Some(Answer::Refused(reason)) => Some(format!("{what}: {reason}")),
            Some(Answer::Served) | None => None,
        };
        let parts: Vec<_> = [refused("subscription", &self.subscription), refused("events", &self.events)]
            .into_iter()
            .flatten()
            .collect();
        link.set_refusal((!parts.is_empty()).then(|| parts.join("; ")));
    }
}
