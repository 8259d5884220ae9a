//! Relays: a published event goes to every open connection with a matching subscription, and only events that NIP-01
//! requires relays to store are kept.

use std::collections::BTreeMap;

use nostr::{ClientMessage, Event, Filter, JsonUtil as _, RelayMessage, SubscriptionId};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) out: mpsc::UnboundedSender<String>,
    /// Cancelled when it breaks.
    pub(crate) broken: CancellationToken,
    subscriptions: BTreeMap<String, Vec<Filter>>,
}

#[derive(Debug)]
pub(crate) struct Relay {
    pub(crate) host: &'static str,
    /// Until when it is out of reach, in milliseconds since the beginning.
    pub(crate) down_until: u64,
    /// Whether it sends `OK` for ephemeral events.
    pub(crate) says_ok: bool,
    /// The connections, in the order in which they were made.
    pub(crate) connections: BTreeMap<u64, Connection>,
    /// Events that replace each other, by kind: the wallet's announcement.
    kept: BTreeMap<u16, Event>,
}

impl Relay {
    pub(crate) const fn new(host: &'static str, says_ok: bool) -> Self {
        Self { host, down_until: 0, says_ok, connections: BTreeMap::new(), kept: BTreeMap::new() }
    }

    pub(crate) fn connect(&mut self, number: u64, out: mpsc::UnboundedSender<String>, broken: CancellationToken) {
        self.connections.insert(number, Connection { out, broken, subscriptions: BTreeMap::new() });
    }

    /// It goes down: every connection breaks.
    pub(crate) fn go_down(&mut self, until: u64) {
        self.down_until = self.down_until.max(until);
        for connection in std::mem::take(&mut self.connections).into_values() {
            connection.broken.cancel();
        }
    }

    /// Keeps an event that replaces earlier ones of its kind.
    pub(crate) fn keep(&mut self, event: &Event) {
        self.kept.insert(event.kind.as_u16(), event.clone());
    }

    /// The connections that have asked for this event, each with the message that brings it.
    pub(crate) fn wanted_by(&self, event: &Event) -> Vec<(u64, String)> {
        let mut wanted = Vec::new();
        for (number, connection) in &self.connections {
            for (id, filters) in &connection.subscriptions {
                if filters.iter().any(|filter| filter.match_event(event, nostr::filter::MatchEventOptions::new())) {
                    let message = RelayMessage::event(SubscriptionId::new(id), event.clone());
                    wanted.push((*number, message.as_json()));
                    break;
                }
            }
        }
        wanted
    }

    /// The service sends a message on a connection; returns the event if it publishes one.
    pub(crate) fn hear(&mut self, number: u64, text: &str) -> Option<Event> {
        let connection = self.connections.get_mut(&number)?;
        match ClientMessage::from_json(text).ok()? {
            ClientMessage::Event(event) => {
                let event = event.into_owned();
                if self.says_ok {
                    // Fails only when the connection has just broken.
                    let _ = connection.out.send(RelayMessage::ok(event.id, true, "").as_json());
                }
                Some(event)
            }
            ClientMessage::Req { subscription_id, filters } => {
                let filters: Vec<Filter> = filters.into_iter().map(std::borrow::Cow::into_owned).collect();
                for event in self.kept.values() {
                    if filters.iter().any(|filter| filter.match_event(event, nostr::filter::MatchEventOptions::new())) {
                        let message = RelayMessage::event(subscription_id.clone().into_owned(), event.clone());
                        let _ = connection.out.send(message.as_json());
                    }
                }
                let _ = connection.out.send(RelayMessage::eose(subscription_id.clone().into_owned()).as_json());
                connection.subscriptions.insert(subscription_id.to_string(), filters);
                None
            }
            ClientMessage::Close(id) => {
                connection.subscriptions.remove(id.as_str());
                None
            }
            _ => None,
        }
    }
}
