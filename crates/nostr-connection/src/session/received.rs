use std::borrow::Cow;

use nostr::EventId;
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::relay_message::RelayMessage;

/// What a message of the relay means.
#[derive(Debug)]
pub enum Received<'t, E> {
    /// An event of our relay subscription, as received: nothing is verified.
    Event(&'t RawValue),
    /// The relay confirmed our relay subscription.
    Subscribed,
    /// The relay closed our relay subscription, for this reason.
    Closed(Cow<'t, str>),
    /// The relay accepted or refused our authentication. What was refused for its lack can be sent again.
    Authenticated {
        /// Whether it accepted.
        accepted: bool,
        /// The relay's explanation.
        text: Cow<'t, str>,
    },
    /// The relay acknowledged an event.
    Acknowledged {
        /// Which event.
        id: EventId,
        /// Whether it accepts it.
        verdict: Verdict,
        /// The relay's explanation.
        text: Cow<'t, str>,
        /// The event and when it was sent, if it is still remembered; once.
        sent: Option<(E, Instant)>,
    },
    /// A notice for people.
    Notice(Cow<'t, str>),
    /// A message about something else: one of the owner's own relay subscriptions, or nothing we asked for.
    Other(RelayMessage<'t>),
    /// The session has handled it.
    Handled,
    /// Not a message of a relay.
    Invalid,
}

/// What a relay says about an event. It proves nothing: the relay may forward what it refuses, and lose what it accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It has it, perhaps since before.
    Accepted,
    /// Not now: we send too much.
    RateLimited,
    /// Not before we authenticate, which we have not tried yet. Events are held back for a while.
    AuthRequired,
    /// Refused.
    Refused,
}
