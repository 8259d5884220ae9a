//! The session of one client: its messages, subscriptions and authentication.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use nostr::{
    ClientMessage, Event, Filter, JsonUtil as _, Kind, RelayMessage, SubscriptionId, TagKind, TagStandard, Timestamp,
};
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Message;

use super::hub::{Hub, Kept, Outbox, Subscription};
use super::published::Published;
use super::quirks::{LieOk, Quirks};

/// Most subscriptions of one connection, unless a test says otherwise.
const MAX_SUBSCRIPTIONS: usize = 20;

const MAX_SUBSCRIPTION_ID: usize = 64;

/// How old or far in the future an authentication event may be (NIP-42: about 10 minutes), in seconds.
const AUTH_WINDOW: u64 = 600;

/// The state of one connection.
pub(super) struct Session {
    hub: Arc<Hub>,
    outbox: Outbox,
    subscriptions: HashMap<SubscriptionId, (Arc<Subscription>, Instant)>,
    challenge: String,
    challenged: bool,
    authenticated: bool,
    window: (Instant, u32),
}

impl Session {
    pub(super) fn new(hub: Arc<Hub>, outbox: Outbox) -> Self {
        let challenge = hex::encode(rand::random::<[u8; 16]>());
        let window = (Instant::now(), 0);
        Self { hub, outbox, subscriptions: HashMap::new(), challenge, challenged: false, authenticated: false, window }
    }

    /// Sends the NIP-42 challenge if authentication is required and it was not sent yet.
    pub(super) fn challenge_if_due(&mut self) {
        if !self.challenged && self.hub.quirks().require_auth {
            self.challenged = true;
            self.say(RelayMessage::auth(self.challenge.clone()));
        }
    }

    pub(super) fn take(&mut self, frame: &Message) {
        let text = match frame {
            Message::Text(text) => text.as_str(),
            Message::Binary(_) => "",
            Message::Ping(_) | Message::Pong(_) | Message::Close(_) | Message::Frame(_) => return,
        };
        self.hub.count(|metrics| metrics.frames += 1);
        match ClientMessage::from_json(text) {
            Ok(ClientMessage::Event(event)) => self.event(event.into_owned()),
            Ok(ClientMessage::Req { subscription_id, filters }) => {
                let filters = filters.into_iter().map(std::borrow::Cow::into_owned).collect();
                self.req(subscription_id.into_owned(), filters);
            }
            Ok(ClientMessage::Close(id)) => {
                self.hub.count(|metrics| metrics.closes += 1);
                self.drop_subscription(&id);
            }
            Ok(ClientMessage::Auth(event)) => self.auth(&event),
            Ok(_) => self.say(RelayMessage::notice("error: this relay does not do that")),
            Err(_) => self.say(RelayMessage::notice("error: not a message")),
        }
    }

    fn event(&mut self, event: Event) {
        let quirks = self.hub.quirks();
        self.hub.see(&event);
        self.hub.count(|metrics| *metrics.events.entry(event.kind.as_u16()).or_default() += 1);
        if let Err(reason) = self.admit(&event, &quirks) {
            self.hub.count(|metrics| metrics.events_refused += 1);
            self.say(RelayMessage::ok(event.id, false, reason));
            return;
        }
        let silent = quirks.no_ok_for_ephemeral && event.kind.is_ephemeral();
        let id = event.id;
        let (status, reason) = match quirks.lie_ok {
            Some(LieOk::AcceptAndDrop) => (true, ""),
            Some(LieOk::RefuseAndForward) => {
                self.hub.publish(&Published::new(event));
                self.hub.count(|metrics| metrics.events_refused += 1);
                (false, "error: could not save the event")
            }
            None => match self.hub.publish(&Published::new(event)) {
                Kept::New => (true, ""),
                Kept::Duplicate => (true, "duplicate: already have this event"),
                Kept::Superseded => (true, "duplicate: have a newer event"),
            },
        };
        if !silent {
            self.say(RelayMessage::ok(id, status, reason));
        }
    }

    fn admit(&mut self, event: &Event, quirks: &Quirks) -> Result<(), &'static str> {
        if quirks.require_auth && !self.authenticated {
            self.challenge_if_due();
            return Err("auth-required: this relay takes events of authenticated clients only");
        }
        if quirks.rate_limit.is_some_and(|limit| !self.within(limit)) {
            return Err("rate-limited: slow down");
        }
        if quirks.refuse_events {
            return Err("blocked: this relay takes no events");
        }
        if !quirks.accept_forged && event.verify().is_err() {
            return Err("invalid: the id or signature is wrong");
        }
        Ok(())
    }

    /// Whether one more event is within `limit` per second.
    fn within(&mut self, limit: u32) -> bool {
        let now = Instant::now();
        if now.duration_since(self.window.0) >= Duration::from_secs(1) {
            self.window = (now, 0);
        }
        self.window.1 = self.window.1.saturating_add(1);
        self.window.1 <= limit
    }

    fn req(&mut self, id: SubscriptionId, filters: Vec<Filter>) {
        let quirks = self.hub.quirks();
        self.hub.count(|metrics| metrics.reqs += 1);
        if quirks.require_auth && !self.authenticated {
            self.challenge_if_due();
            return self.say(RelayMessage::closed(id, "auth-required: this relay serves authenticated clients only"));
        }
        if id.as_str().is_empty() || id.as_str().chars().count() > MAX_SUBSCRIPTION_ID {
            return self.say(RelayMessage::closed(id, "invalid: a subscription id has 1 to 64 characters"));
        }
        self.drop_subscription(&id);
        if self.subscriptions.len() >= quirks.max_subscriptions.unwrap_or(MAX_SUBSCRIPTIONS) {
            return self.say(RelayMessage::closed(id, "error: too many subscriptions"));
        }
        let subscription = Arc::new(Subscription { id: id.clone(), filters, outbox: self.outbox.clone() });
        self.subscriptions.insert(id.clone(), (Arc::clone(&subscription), Instant::now()));
        let open = self.subscriptions.len() as u64;
        self.hub.count(|metrics| {
            metrics.open_subscriptions += 1;
            metrics.most_subscriptions = metrics.most_subscriptions.max(open);
        });
        self.hub.subscribe(&subscription, Instant::now() + quirks.latency);
        self.say(RelayMessage::eose(id));
    }

    fn drop_subscription(&mut self, id: &SubscriptionId) {
        if let Some((subscription, _)) = self.subscriptions.remove(id) {
            self.hub.unsubscribe(&subscription);
            self.hub.count(|metrics| metrics.open_subscriptions -= 1);
        }
    }

    fn auth(&mut self, event: &Event) {
        let valid = self.is_valid_auth(event);
        self.authenticated |= valid;
        self.hub.count(|metrics| {
            metrics.auths += 1;
            metrics.auths_valid += u64::from(valid);
        });
        let reason = if valid { "" } else { "invalid: not an answer to this connection's challenge" };
        self.say(RelayMessage::ok(event.id, valid, reason));
    }

    /// NIP-42: kind 22242, signed, of now, with our address and this connection's challenge.
    fn is_valid_auth(&self, event: &Event) -> bool {
        let names_us = match event.tags.find_standardized(TagKind::Relay) {
            Some(TagStandard::Relay(url)) => url.as_str_without_trailing_slash() == self.hub.url,
            _ => false,
        };
        event.kind == Kind::Authentication
            && self.challenged
            && event.tags.challenge() == Some(self.challenge.as_str())
            && names_us
            && event.created_at.as_secs().abs_diff(Timestamp::now().as_secs()) <= AUTH_WINDOW
            && event.verify().is_ok()
    }

    /// Closes the subscriptions older than `age`; returns when the next one is due.
    pub(super) fn close_older_than(&mut self, age: Duration) -> Option<Instant> {
        let now = Instant::now();
        let due: Vec<_> = self
            .subscriptions
            .iter()
            .filter(|(_, (_, opened))| *opened + age <= now)
            .map(|(id, _)| id.clone())
            .collect();
        for id in due {
            self.drop_subscription(&id);
            self.say(RelayMessage::closed(id, "error: shutting down idle subscription"));
        }
        self.subscriptions.values().map(|(_, opened)| *opened + age).min()
    }

    /// The id of any open subscription.
    pub(super) fn any_subscription(&self) -> &str {
        self.subscriptions.keys().next().map_or("", |id| id.as_str())
    }

    fn say(&self, message: RelayMessage<'_>) {
        self.hub.say(&self.outbox, message.as_json());
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        for (subscription, _) in self.subscriptions.values() {
            self.hub.unsubscribe(subscription);
        }
        let open = self.subscriptions.len() as u64;
        self.hub.count(|metrics| metrics.open_subscriptions -= open);
    }
}
