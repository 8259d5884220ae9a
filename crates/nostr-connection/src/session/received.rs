use std::borrow::Cow;

use nostr::EventId;
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::relay_message::RelayMessage;

/// The meaning of a relay's message.
#[derive(Debug)]
pub enum Received<'t, E> {
    /// An event of our relay subscription, as received and not verified.
    Event(&'t RawValue),
    /// The relay confirmed our relay subscription.
    Subscribed,
    /// The relay closed our relay subscription, for this reason.
    Closed(Cow<'t, str>),
    /// The relay accepted or refused our authentication. Events refused for lack of it can be sent again.
    Authenticated {
        /// Whether it accepted.
        accepted: bool,
        /// The relay's explanation.
        text: Cow<'t, str>,
    },
    /// The relay acknowledged an event.
    Acknowledged {
        /// The event's id.
        id: EventId,
        /// Whether it accepts it.
        verdict: Verdict,
        /// The relay's explanation.
        text: Cow<'t, str>,
        /// The event and when it was sent, if still known; returned once.
        sent: Option<(E, Instant)>,
    },
    /// A notice for people.
    Notice(Cow<'t, str>),
    /// A message about one of the owner's own relay subscriptions, or about nothing that we requested.
    Other(RelayMessage<'t>),
    /// The session has handled it.
    Handled,
    /// Not a message of a relay.
    Invalid,
}

/// A relay's verdict on an event. It proves nothing: the relay may forward what it refuses, and lose what it accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Stored or known already.
    Accepted,
    /// Rate-limited.
    RateLimited,
    /// Authentication is required and not yet tried. Events are held back meanwhile.
    AuthRequired,
    /// Refused.
    Refused,
}
